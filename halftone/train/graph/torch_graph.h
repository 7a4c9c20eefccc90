// SPDX-License-Identifier: Apache-2.0
// A network that can be trained: its graph, computed by libtorch.
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

/// Numbers that training changes.
struct TorchParameter {
  ir::ValueId id = ir::kAbsent;  ///< of the constant it was
  std::string name;
  at::Tensor tensor;  ///< a leaf that requires a gradient, in the shape the graph has it
};

/// What replaces numbers on their way; a null function lets them be. Called on the thread that
/// calls forward() or asks for gradients, from several at once if they do.
struct ForwardHooks {
  /// What a node that reads_weights() reads instead of an input: for most, 0 are activations and 1
  /// weights. The result has the input's shape.
  std::function<at::Tensor(ir::NodeId node, std::size_t input, const at::Tensor& x)> input;
  /// What an Encode gives for numbers x, its activation done, and what a Recurrent multiplies with
  /// its weights for states x. Without it: the nearest levels of the node's encoding, the gradient
  /// passing straight through; states without an encoding stay.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& x)> encode;
  /// What the products and bias of a FullyConnected, Conv or ConvTranspose become before what is
  /// added to them and the activation; channels are the last axis.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& x)> product;
  /// What the gradient by the output of a node that reads_weights() becomes before it goes on to
  /// what the node reads. Called when gradients are asked for, after forward() has returned.
  std::function<at::Tensor(ir::NodeId node, const at::Tensor& gradient)> gradient;
};

/// Constants by the value that holds them.
using ConstantMap = std::map<ir::ValueId, std::shared_ptr<const ir::Constant>>;

/// A graph whose trainable_constants() are parameters. What no gradient to a parameter flows
/// through and libtorch has no words for is computed by definition, and cut off from gradients.
/// A copy shares the parameters.
class TorchGraph {
 public:
  /// @param graph    simplified, weights behind a DequantizeLinear folded, else they stay as they
  ///                 are; of encoded constants the levels are what training starts from
  /// @param numbers  at::kFloat, or at::kDouble to look at gradients more closely
  /// @param device   where constants are and inputs are brought
  /// @throws Error kUnsupported "no gradient for node 'NAME' (OPERATOR), node ..." that names all
  ///         nodes that would need one
  explicit TorchGraph(ir::Graph graph, at::ScalarType numbers = at::kFloat,
                      at::Device device = at::kCPU);

  [[nodiscard]] std::span<const TorchParameter> parameters() const { return parameters_; }
  /// The numbers of a constant as they are now, without a gradient.
  [[nodiscard]] at::Tensor numbers_of(ir::ValueId constant) const;
  /// The graph as it came: what ids of nodes and values mean.
  [[nodiscard]] const ir::Graph& source() const { return graph_; }
  /// Whether a node is computed by libtorch, not by definition.
  [[nodiscard]] bool is_differentiable(ir::NodeId id) const;

  /// The outputs of the graph. May be called by several threads at once, as may torch's grad() of
  /// the results by the parameters; not while the parameters change.
  /// @param inputs  one per input of the graph, of its shape with one batch for all, and its type
  ///                (see scalar_type(); real numbers may be of either size)
  /// @throws Error kShape "input 'NAME': expected TYPE, found ..." if an input does not fit, or
  ///         "node 'NAME' (OPERATOR): ..." if its numbers are places out of range; kInternal with
  ///         the node and what libtorch says, if it refuses what a hook has given
  [[nodiscard]] std::vector<at::Tensor> forward(std::span<const at::Tensor> inputs,
                                                const ForwardHooks& hooks = {}) const;

  /// A copy of the graph with the parameters' numbers as its constants; those that came as codes
  /// stay the codes they were. The constants have other ids, but their names.
  /// @param others  constants to be used instead, of the same shapes: as new codes of a weight
  /// @throws Error kShape if one does not fit
  [[nodiscard]] ir::Graph graph(const ConstantMap& others = {}) const;

 private:
  struct Step {
    ir::NodeId node;
    bool is_differentiable;
    std::vector<ir::ElementType> types;  ///< of the inputs, then of the output
  };

  void add_parameters();
  void add_steps();
  [[nodiscard]] std::size_t batch_of(std::span<const at::Tensor> inputs) const;
  [[nodiscard]] at::Tensor checked_input(std::size_t i, const at::Tensor& given,
                                         std::size_t batch) const;
  [[nodiscard]] at::Tensor run(const Step& step, std::vector<at::Tensor> inputs, std::size_t batch,
                               const ForwardHooks& hooks) const;

  ir::Graph graph_;
  at::ScalarType numbers_;
  at::Device device_;
  std::vector<TorchParameter> parameters_;
  std::vector<at::Tensor> constants_;  ///< by value, the parameters among them
  std::vector<Step> steps_;
  std::vector<std::size_t> num_uses_;  ///< by value
};

/// Gives the readers of a constant another one instead, which takes its name.
/// @return the new constant's id
/// @pre types of nodes that depend on its encoding are inferred anew by the caller
ir::ValueId replace_constant(ir::Graph& graph, ir::ValueId id,
                             std::shared_ptr<const ir::Constant> constant);

}  // namespace halftone::train
