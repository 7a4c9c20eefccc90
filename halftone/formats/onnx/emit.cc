// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/emit.h"

#include <algorithm>
#include <numeric>

#include "halftone/base/error.h"

namespace halftone::formats::onnx {

using ir::ValueId;

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

}  // namespace halftone::formats::onnx
