// SPDX-License-Identifier: Apache-2.0
// What the ways to compute FullyConnected share.
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

std::optional<std::string> why_not_packed(const ir::Graph& graph, const ir::Node& node) {
  const bool has_bias = node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
  if (graph.value(node.inputs[1]).type.encoding.is_dense()) return "the weights are not encoded";
  if (graph.constant(node.inputs[1]) == nullptr) return "the weights are not constant";
  if (has_bias && graph.constant(node.inputs[2]) == nullptr) return "the bias is not constant";
  return std::nullopt;
}

}  // namespace halftone::runtime
