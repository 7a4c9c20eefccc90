// SPDX-License-Identifier: Apache-2.0
// A trainable network: a graph that libtorch computes.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// A constant that training changes.
struct TorchParameter {
  ir::ValueId id = ir::kAbsent;  ///< of the constant in the source graph
  std::string name;
  at::Tensor tensor;  ///< a leaf that requires a gradient, in the constant's shape
};

/// Functions that replace values during the forward and backward pass; a null function changes
/// nothing. They run on the thread that calls forward() or computes gradients, possibly on several
/// at once.
struct ForwardHooks {
  /// Replaces an input of a node that reads_weights(); in most nodes input 0 holds activations and
  /// input 1 weights. The result has the input's shape.
  std::function<at::Tensor(ir::NodeId node, std::size_t input, const at::Tensor& x)> input;
  /// Encodes the input x of an Encode, after its activation, and the states x that a Recurrent
  /// multiplies with its weights. If null: rounds to the nearest levels of the node's encoding with
  /// a straight-through gradient; states without an encoding are unchanged.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& x)> encode;
  /// Replaces products plus bias of a FullyConnected, Conv or ConvTranspose, before a further
  /// addend and the activation; channels are the last axis.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& x)> product;
  /// Replaces the gradient with respect to the output of a node that reads_weights(), before it
  /// passes to the node's inputs. Called during the backward pass, after forward() has returned.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& gradient)> gradient;
};

/// Constants by the value that holds them.
using ConstantMap = std::map<ir::ValueId, std::shared_ptr<const ir::Constant>>;

/// A graph whose trainable_constants() are parameters. Operators that need no gradient and have no
/// libtorch equivalent run the reference implementation, which passes no gradient. A copy shares
/// the parameters.
class TorchGraph {
 public:
  /// @param graph    simplified; weights behind a DequantizeLinear are only trained if it has been
  ///                 folded. Training of encoded constants starts from their levels
  /// @param numbers  at::kFloat, or at::kDouble to check gradients
  /// @param device   holds the constants; inputs are copied to it
  /// @throws Error kUnsupported "no gradient for node 'NAME' (OPERATOR), node ..." with all nodes
  ///         that need a gradient and have none
  explicit TorchGraph(ir::Graph graph, at::ScalarType numbers = at::kFloat,
                      at::Device device = at::kCPU);

  [[nodiscard]] std::span<const TorchParameter> parameters() const { return parameters_; }
  /// The current values of a constant, detached.
  [[nodiscard]] at::Tensor numbers_of(ir::ValueId constant) const;
  /// The graph passed to the constructor; node and value ids refer to it.
  [[nodiscard]] const ir::Graph& source() const { return graph_; }
  /// Whether libtorch computes a node, not the reference implementation.
  [[nodiscard]] bool is_differentiable(ir::NodeId id) const;

  /// Computes the outputs of the graph. Several threads may call it at once, and torch's grad() of
  /// the results too, but not while the parameters change.
  /// @param inputs  one per graph input, of its shape, with one batch size for all, and of its type
  ///                (see scalar_type(); float32 and float64 are both accepted)
  /// @throws Error kShape "input 'NAME': expected TYPE, found ..." if an input does not fit, or
  ///         "node 'NAME' (OPERATOR): ..." if indices are out of range; kInternal with the node and
  ///         libtorch's message if libtorch rejects the result of a hook
  [[nodiscard]] std::vector<at::Tensor> forward(std::span<const at::Tensor> inputs,
                                                const ForwardHooks& hooks = {}) const;

  /// A copy of the graph with the current parameters as constants; encoded constants keep their
  /// original codes. The new constants have new ids and the old names.
  /// @param others  replacements of the same shapes, such as new codes of a weight
  /// @throws Error kShape if one does not fit
  [[nodiscard]] ir::Graph graph(const ConstantMap& others = {}) const;

 private:
  struct TorchStep {
    ir::NodeId node;
    bool is_differentiable;
    std::vector<ir::ElementType> types;  ///< of the inputs, then of the output
  };

  void add_parameters();
  void add_steps();
  [[nodiscard]] std::size_t batch_of(std::span<const at::Tensor> inputs) const;
  [[nodiscard]] at::Tensor checked_input(std::size_t i, const at::Tensor& given,
                                         std::size_t batch) const;
  [[nodiscard]] at::Tensor run(const TorchStep& step, std::vector<at::Tensor> inputs,
                               std::size_t batch, const ForwardHooks& hooks) const;

  ir::Graph graph_;
  at::ScalarType numbers_;
  at::Device device_;
  std::vector<TorchParameter> parameters_;
  std::vector<at::Tensor> constants_;  ///< by value; includes the parameters
  std::vector<TorchStep> steps_;
  std::vector<std::size_t> num_uses_;  ///< by value
};

/// Replaces a constant by another one with the same name, for all its readers.
/// @return the new constant's id
/// @pre the caller infers the node types that depend on its encoding again
ir::ValueId replace_constant(ir::Graph& graph, ir::ValueId id,
                             std::shared_ptr<const ir::Constant> constant);

}  // namespace halftone::train
