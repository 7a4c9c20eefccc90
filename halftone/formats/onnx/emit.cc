// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/emit.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/printable.h"

namespace halftone::formats::onnx {

using ir::ValueId;
using Weight = std::shared_ptr<const QuantizedWeight>;

ValueId emit_unary(NodeBuilder& node, ir::ActivationKind kind, ValueId x) {
  return node.emit(ir::Unary{{kind}}, {x});
}

ValueId emit_binary(NodeBuilder& node, ir::BinaryKind kind, ValueId a, ValueId b) {
  return node.emit(ir::Binary{kind, {}}, {a, b});
}

ValueId emit_where(NodeBuilder& node, ValueId condition, ValueId a, ValueId b) {
  return node.emit(ir::Where{}, {condition, a, b});
}

ValueId emit_cast(NodeBuilder& node, ir::ElementType element, ValueId x) {
  return node.type(x).is_dense(element) ? x : node.emit(ir::Cast{element}, {x});
}

ValueId emit_transpose(NodeBuilder& node, std::vector<std::size_t> permutation, ValueId x) {
  if (std::ranges::is_sorted(permutation)) return x;
  return node.emit(ir::Transpose{std::move(permutation)}, {x});
}

ValueId emit_reduce(NodeBuilder& node, ir::ReduceKind kind, std::vector<std::size_t> axes,
                    bool keep_dims, ValueId x) {
  std::ranges::sort(axes);
  return node.emit(ir::Reduce{kind, std::move(axes), keep_dims}, {x});
}

ValueId unsqueezed(NodeBuilder& node, ValueId x, std::size_t axis) {
  const auto dims = node.type(x).shape.dims();
  std::vector<ir::Dim> result(dims.begin(), dims.end());
  result.insert(result.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return node.reshape(x, ir::Shape(std::move(result)));
}

ValueId squeezed(NodeBuilder& node, ValueId x, std::size_t axis) {
  const auto dims = node.type(x).shape.dims();
  std::vector<ir::Dim> result(dims.begin(), dims.end());
  result.erase(result.begin() + static_cast<std::ptrdiff_t>(axis));
  return node.reshape(x, ir::Shape(std::move(result)));
}

std::vector<std::size_t> sorted_axes(const std::vector<std::int64_t>& axes, std::size_t rank) {
  std::vector<std::size_t> result;
  for (const std::int64_t axis : axes) result.push_back(ir::normalized_axis(axis, rank));
  std::ranges::sort(result);
  if (std::ranges::adjacent_find(result) != result.end()) {
    fail(ErrorKind::kShape, "an axis is named twice");
  }
  return result;
}

std::vector<std::size_t> all_axes(std::size_t rank) {
  std::vector<std::size_t> axes(rank);
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  return axes;
}

std::optional<std::vector<std::int64_t>> numbers_of(NodeBuilder& node, const char* attribute,
                                                    std::size_t input, std::int64_t since) {
  if (node.opset() < since) return node.ints_attribute(attribute);
  if (!node.has_input(input)) return std::nullopt;
  return node.numbers_input(input);
}

std::int64_t number_input(NodeBuilder& node, std::size_t i) {
  const std::vector<std::int64_t> numbers = node.numbers_input(i);
  if (numbers.size() != 1) {
    fail(ErrorKind::kShape, "input " + std::to_string(i) + ": expected one number, found " +
                                std::to_string(numbers.size()));
  }
  return numbers[0];
}

LayerInput layer_input(NodeBuilder& node, std::size_t i) {
  const auto* rounded = node.input_as<RoundedFloat>(i);
  if (rounded == nullptr || rounded->is_codes()) return {node.input(i), nullptr};
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
