// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/layer_input.h"

#include <cmath>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::formats::onnx {

using ir::ValueId;
using Weight = std::shared_ptr<const QuantizedWeight>;

LayerInput layer_input(NodeBuilder& node, std::size_t i) {
  const auto* rounded = node.input_as<RoundedFloat>(i);
  if (rounded == nullptr || rounded->is_codes) return {node.input(i), nullptr};
  return {rounded->x, rounded->encoding};
}

ValueId operand(NodeBuilder& node, const LayerInput& input) {
  if (input.encoding == nullptr) return input.x;
  return node.emit(ir::Encode{input.encoding}, {input.x}, "encode");
}

std::optional<ValueId> encoded_weight(NodeBuilder& node, std::size_t i,
                                      const std::vector<std::size_t>& permutation) {
  const auto* weight = node.input_as<Weight>(i);
  return weight == nullptr ? std::nullopt : encoded_weight(node, *weight, permutation);
}

std::optional<ValueId> encoded_weight(NodeBuilder& node, const Weight& weight,
                                      const std::vector<std::size_t>& permutation) {
  if (weight->shape.rank() != permutation.size()) return std::nullopt;
  auto& known = node.state().encoded;
  const auto key = std::pair(weight.get(), permutation);
  if (const auto found = known.find(key); found != known.end()) return found->second.second;
  node.state().charge(weight->size() * static_cast<std::size_t>(weight->bits) / 8);
  auto codes = encode(permuted(*weight, permutation));
  if (!codes) return std::nullopt;
  const ValueId id = node.state().graph.add_constant(weight->name, std::move(*codes));
  known.emplace(key, std::pair(weight, id));
  return id;
}

void check_scales(const ir::Tensor& scales) {
  for (const float scale : scales.as<float>()) {
    if (std::isfinite(scale)) continue;
    fail(ErrorKind::kFormat, "scales: expected finite numbers, found " + number_text(scale));
  }
}

ir::Arithmetic arithmetic_of(const LayerInput& input, const std::optional<ValueId>& weight) {
  return input.encoding != nullptr || weight ? ir::Arithmetic::kFloat : ir::Arithmetic::kAuto;
}

}  // namespace halftone::formats::onnx
