// SPDX-License-Identifier: Apache-2.0
// For tests: compares an operator in libtorch with its reference implementation, and its gradients
// with central differences.
#pragma once

#include <string>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/train/graph/torch_graph.h"

namespace halftone::train {

/// An input that holds booleans or indices.
struct FixedInput {
  std::size_t input = 1;
  ir::ElementType element = ir::ElementType::kInt64;
  std::vector<float> numbers;
};

struct OperatorCase {
  ir::Operator op;
  std::vector<ir::Shape> shapes;  ///< of the inputs; kNoInput is an absent one
  bool positive = false;          ///< inputs are 1/2 or more; else at least 1/10 away from 0
  std::vector<FixedInput> fixed = {};
  float scale = 1;  ///< of the inputs
};

inline const ir::Shape kNoInput{0};
inline const ir::Activation kTanh{ir::ActivationKind::kTanh};

/// A graph of one node; the float inputs of the node are inputs of the graph.
struct OneNode {
  ir::Graph graph;
  ir::NodeId node;
  std::vector<ir::Tensor> inputs;
};
OneNode one_node(const OperatorCase& test);

/// Describes a case in failure messages: "Conv strides=2,2".
std::string describe(const OperatorCase& test);

/// Runs the graph on inputs of the types that it declares.
std::vector<ir::Tensor> forward(const TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                                const ForwardHooks& hooks = {});

/// Runs the node in libtorch and expects the output of the reference implementation.
void expect_defined(const OperatorCase& test);

/// Compares the gradients of a weighted sum of the outputs, with respect to each input and each
/// parameter, with central differences in double precision.
/// @pre the graph has one output and computes in float64
void expect_slopes(TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                   const std::string& context = "");
/// The same for one node.
void expect_slopes(const OperatorCase& test);

/// Runs both checks on all cases.
void expect_defined_and_slopes(const std::vector<OperatorCase>& cases);

}  // namespace halftone::train
