// SPDX-License-Identifier: Apache-2.0
// For tests: one operator in words of libtorch beside its definition and its slopes.
#pragma once

#include <string>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/train/graph/torch_graph.h"

namespace halftone::train {

/// An input that holds booleans or places.
struct FixedInput {
  std::size_t input = 1;
  ir::ElementType element = ir::ElementType::kInt64;
  std::vector<float> numbers;
};

struct OperatorCase {
  ir::Operator op;
  std::vector<ir::Shape> shapes;  ///< of the inputs; one of rank 1 and extent 0 is absent
  bool positive = false;          ///< whether inputs are 1/2 or more; else off 0 by 1/10 or more
  std::vector<FixedInput> fixed = {};
  float scale = 1;  ///< of the inputs
};

inline const ir::Shape kNoInput{0};
inline const ir::Activation kTanh{ir::ActivationKind::kTanh};

/// A graph of one node; its inputs of real numbers are inputs of the graph.
struct OneNode {
  ir::Graph graph;
  ir::NodeId node;
  std::vector<ir::Tensor> inputs;
};
OneNode one_node(const OperatorCase& test);

/// "Conv strides=2,2", for what a failure says.
std::string describe(const OperatorCase& test);

/// The outputs for inputs of the graph's types.
std::vector<ir::Tensor> forward(const TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                                const ForwardHooks& hooks = {});

/// Computes the node by libtorch, and expects what the definition gives.
void expect_defined(const OperatorCase& test);

/// Compares the gradients of a weighted sum of the outputs by every input and every parameter with
/// central differences, in double precision.
/// @pre the graph has one output, its numbers double
void expect_slopes(TorchGraph& graph, const std::vector<ir::Tensor>& inputs,
                   const std::string& context = "");
/// The same for one node.
void expect_slopes(const OperatorCase& test);

/// Expects both for all cases.
void expect_defined_and_slopes(const std::vector<OperatorCase>& cases);

}  // namespace halftone::train
