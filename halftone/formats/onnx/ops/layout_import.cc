// SPDX-License-Identifier: Apache-2.0
// Reshaping, transposing and joining.
#include <algorithm>
#include <array>
#include <memory>
#include <numeric>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;

/// A requested shape, in which -1 takes the remaining elements.
std::vector<ir::Dim> requested(const Integers& request) {
  std::vector<ir::Dim> dims;
  for (const Extent& extent : request.values) {
    const auto number = extent.number();
    if (number && *number < -1) {
      fail(ErrorKind::kShape, "expected extents >= -1, found " + std::to_string(*number));
    }
    dims.push_back(number == -1 ? ir::kRemaining : checked_dim(extent));
  }
  return dims;
}

/// The axes of a Squeeze or Unsqueeze: an attribute below operator set 13, an input from 13 on.
std::optional<std::vector<std::int64_t>> axes_of(NodeBuilder& node) {
  if (node.opset() < 13) return node.ints_attribute("axes");
  if (!node.has_input(1)) return std::nullopt;
  return node.numbers_input(1);
}

/// Marks the named axes. @throws Error kShape if an axis is repeated
std::vector<bool> marked(std::span<const std::int64_t> axes, std::size_t rank) {
  std::vector<bool> marks(rank, false);
  for (const std::int64_t axis : axes) {
    const std::size_t at = ir::normalized_axis(axis, rank);
    if (marks[at]) fail(ErrorKind::kShape, "axis " + std::to_string(axis) + " is named twice");
    marks[at] = true;
  }
  return marks;
}

/// Whether a node gives the number of an extent to shape arithmetic, as our files do.
bool is_extent(const NodeBuilder& node, ValueId x) {
  const ir::ValueType& type = node.type(x);
  return node.output_name().starts_with("extent/") && type.is_dense(ir::ElementType::kInt64) &&
         type.shape.rank() == 0;
}

/// A requested shape that the network computes, without 0 and -1 where these mean other extents.
Integers computed_request(NodeBuilder& node, const ir::Shape& x, bool zero_copies) {
  const ir::ValueType type = node.input_type(1);
  const bool is_list =
      type.shape.rank() == 1 && type.shape.is_static() && type.is_dense(ir::ElementType::kInt64);
  if (!is_list) NodeBuilder::unsupported("input 1: expected a shape known during the import");
  const auto whole = [&](double value) { return node.add_scalar(value, ir::ElementType::kInt64); };
  ValueId request = node.input(1);
  if (zero_copies) {
    Integers same{false, ir::ElementType::kInt64, {}};
    for (std::size_t i = 0; i < static_cast<std::size_t>(type.shape[0]); ++i) {
      same.values.push_back(i < x.rank() ? ir::extent_of(x[i]) : Extent(0));
    }
    const ValueId extents = node.state().add_integers(node.output_name() + "/extents", same);
    request = emit_where(node, emit_binary(node, ir::BinaryKind::kEqual, request, whole(0)),
                         extents, request);
  }
  const Integers all{true, ir::ElementType::kInt64, {ir::extent_of(product_of(x.dims()))}};
  const ValueId total = node.state().add_integers(node.output_name() + "/elements", all);
  const ValueId product = emit_reduce(node, ir::ReduceKind::kProd, {0}, false, request);
  const ValueId others = emit_binary(node, ir::BinaryKind::kSub, whole(0), product);
  const ValueId rest = emit_binary(node, ir::BinaryKind::kDiv, total,
                                   emit_binary(node, ir::BinaryKind::kMax, others, whole(1)));
  request =
      emit_where(node, emit_binary(node, ir::BinaryKind::kLess, request, whole(0)), rest, request);
  return *node.extents_of(request);
}

void build_reshape(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape& shape = node.type(x).shape;
  const bool zero_copies = node.opset() < 14 || node.int_attribute("allowzero", 0) == 0;
  if (node.opset() < 5) {
    const auto request = node.ints_attribute("shape").value_or(std::vector<std::int64_t>{});
    node.set_output(0, node.reshape(x, ir::resolve_reshape(shape, request, zero_copies)));
    return;
  }
  const auto request = node.integers(1);
  if (is_extent(node, x)) {
    return node.set_output(Integers{false, ir::ElementType::kInt64, {node.computed_extent(x)}});
  }
  if (!request) {
    const ir::Shape copy = shape;  // adding nodes may move it
    std::vector<ir::Dim> dims;
    for (const Extent& extent : computed_request(node, copy, zero_copies).values) {
      dims.push_back(checked_dim(extent));
    }
    node.set_output(0, node.emit(ir::Reshape{ir::Shape(std::move(dims))}, {x}));
    return;
  }
  node.set_output(0, node.reshape(x, ir::resolve_extents(shape, requested(*request), zero_copies)));
}

void build_flatten(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape& shape = node.type(x).shape;
  const auto rank = static_cast<std::int64_t>(shape.rank());
  const std::int64_t axis = node.int_attribute("axis", 1);
  // Unlike other axes, this one may equal the rank.
  const std::size_t split = axis == rank ? shape.rank() : ir::normalized_axis(axis, shape.rank());
  node.set_output(0, node.reshape(x, {product_of(shape.dims().first(split)),
                                      product_of(shape.dims().subspan(split))}));
}

void build_squeeze(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape& shape = node.type(x).shape;
  const auto axes = axes_of(node);
  const auto marks = marked(axes.value_or(std::vector<std::int64_t>{}), shape.rank());
  std::vector<ir::Dim> dims;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    if (marks[i] && !ir::may_be_equal(shape[i], 1)) {
      fail(ErrorKind::kShape, "axis " + std::to_string(i) + " of " + shape.to_string() +
                                  ": expected an extent of 1 to squeeze");
    }
    if (axes ? !marks[i] : shape[i] != 1) dims.push_back(shape[i]);
  }
  node.set_output(0, node.reshape(x, ir::Shape(std::move(dims))));
}

void build_unsqueeze(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape& shape = node.type(x).shape;
  const auto axes = axes_of(node);
  if (!axes) fail(ErrorKind::kFormat, "expected axes, found none");
  const auto marks = marked(*axes, shape.rank() + axes->size());
  std::vector<ir::Dim> dims;
  std::size_t next = 0;
  for (const bool is_new : marks) dims.push_back(is_new ? 1 : shape[next++]);
  node.set_output(0, node.reshape(x, ir::Shape(std::move(dims))));
}

std::vector<std::size_t> permutation_of(NodeBuilder& node, std::size_t rank) {
  std::vector<std::size_t> permutation(rank);
  std::iota(permutation.rbegin(), permutation.rend(), std::size_t{0});
  const auto perm = node.ints_attribute("perm");
  if (!perm) return permutation;
  permutation.clear();
  for (const std::int64_t axis : *perm) permutation.push_back(ir::normalized_axis(axis, rank));
  return permutation;
}

/// Values of few bits stay so. @return false, with nothing added, for other values
bool build_transpose_of_codes(NodeBuilder& node) {
  if (const auto* rounded = node.input_as<RoundedFloat>(0)) {
    RoundedFloat moved = *rounded;
    const std::size_t rank = node.type(moved.x).shape.rank();
    moved.x = node.emit(ir::Transpose{permutation_of(node, rank)}, {moved.x});
    node.bind_output(0, moved);
    return true;
  }
  const auto* held = node.input_as<std::shared_ptr<const QuantizedWeight>>(0);
  if (held == nullptr) return false;
  const QuantizedWeight& weight = **held;
  const auto permutation = permutation_of(node, weight.shape.rank());
  const ir::ValueType type = ir::dense_type(ir::ElementType::kUint8, weight.shape);
  const std::array types = {&type};
  static_cast<void>(ir::infer_output(ir::Transpose{permutation}, types));
  node.state().charge(weight.size());
  node.bind_output(0, std::make_shared<const QuantizedWeight>(permuted(weight, permutation)));
  return true;
}

void build_transpose(NodeBuilder& node) {
  if (build_transpose_of_codes(node)) return;
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  node.set_output(0, node.emit(ir::Transpose{permutation_of(node, rank)}, {x}));
}

void build_concat(NodeBuilder& node) {
  const std::vector<ValueId> inputs = node.inputs();
  if (inputs.empty()) fail(ErrorKind::kFormat, "expected at least one input, found none");
  if (node.opset() >= 4 && !node.has_attribute("axis")) {
    fail(ErrorKind::kFormat, "expected the attribute axis, found none");
  }
  const std::size_t axis =
      ir::normalized_axis(node.int_attribute("axis", 1), node.type(inputs[0]).shape.rank());
  node.set_output(0, node.emit(ir::Concat{axis}, inputs));
}

constexpr ReaderEntry kLayoutReaders[] = {
    {"", "Reshape", build_reshape},     {"", "Flatten", build_flatten},
    {"", "Squeeze", build_squeeze},     {"", "Unsqueeze", build_unsqueeze},
    {"", "Transpose", build_transpose}, {"", "Concat", build_concat},
};

}  // namespace

std::span<const ReaderEntry> layout_readers() { return kLayoutReaders; }

}  // namespace halftone::formats::onnx
