// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/precision.h"

#include <utility>

#include "halftone/ir/ops/traits.h"
#include "halftone/train/graph/torch_gradient.h"
#include "halftone/train/student/format_rounding.h"

namespace halftone::train {
namespace {

using numerics::NumberFormat;

/// Whether a node multiplies an input or looks up weights in it.
bool is_factor(const ir::Operator& op, std::size_t input, bool is_constant) {
  if (ir::is_recurrent(op)) return input == ir::kRecurrenceWeights;
  return ir::is_table(op) ? input == 0 && is_constant : input <= 1;
}

at::Tensor rounded(const NumberFormat& format, const at::Tensor& x, TensorRows rows) {
  if (format.is_float32()) return x;
  return straight_through(x, rounded_to_nearest(format, x, rows));
}

/// The rows that a layer multiplies: outputs of weights, channels of activations.
TensorRows factor_rows(const ir::Operator& op, std::size_t input) {
  const bool is_weights = ir::is_table(op) || ir::input_role(op, input) == ir::InputRole::kWeights;
  return is_weights || ir::is_recurrent(op) ? TensorRows::kOutputs : TensorRows::kLastAxis;
}

/// The format of a node's input; null if it is not rounded.
const NumberFormat* format_of(const ir::Graph& graph, const PrecisionOptions& options,
                              ir::NodeId id, std::size_t input) {
  const ir::Node& node = graph.node(id);
  const ir::ValueId value = node.inputs[input];
  const bool is_constant = graph.constant(value) != nullptr;
  if (!is_factor(node.op, input, is_constant)) return nullptr;
  if (!graph.value(value).type.encoding.is_dense()) return nullptr;
  return is_constant ? &options.weights : &options.activations;
}

}  // namespace

ForwardHooks with_precision(ForwardHooks hooks, const ir::Graph& graph,
                            const PrecisionOptions& options, std::uint64_t seed) {
  if (!options.weights.is_float32() || !options.activations.is_float32()) {
    hooks.input = [inner = std::move(hooks.input), &graph, options](
                      ir::NodeId node, std::size_t input, const at::Tensor& x) {
      const at::Tensor given = inner ? inner(node, input, x) : x;
      const NumberFormat* format = format_of(graph, options, node, input);
      if (format == nullptr || !x.is_floating_point()) return given;
      return rounded(*format, given, factor_rows(graph.node(node).op, input));
    };
  }
  if (hooks.encode && !options.activations.is_float32()) {
    hooks.encode = [inner = std::move(hooks.encode), &graph, options](ir::NodeId node,
                                                                      const at::Tensor& x) {
      const at::Tensor given = inner(node, x);
      const auto* encoding = ir::activation_encoding(graph.node(node).op);
      const bool is_float = encoding != nullptr && *encoding == nullptr;
      return is_float ? rounded(options.activations, given, TensorRows::kLastAxis) : given;
    };
  }
  if (!options.gradients.is_float32()) {
    hooks.gradient = [options, seed](ir::NodeId node, const at::Tensor& gradient) {
      if (options.gradient_rounding == GradientRounding::kNearest) {
        return rounded_to_nearest(options.gradients, gradient);
      }
      return rounded_stochastically(options.gradients, gradient,
                                    seed_of(seed, {static_cast<std::uint64_t>(node)}));
    };
  }
  return hooks;
}

}  // namespace halftone::train
