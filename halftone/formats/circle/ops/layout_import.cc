// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

std::vector<std::int64_t> widened(std::span<const std::int32_t> numbers) {
  return {numbers.begin(), numbers.end()};
}

/// Whether a reshape of one sample exchanges the axes of samples and steps, as recurrent layers of
/// Keras need it. Written as a Transpose, it allows more samples.
bool exchanges_first_axes(const ir::Shape& from, const ir::Shape& to) {
  if (from.rank() < 3 || from.rank() != to.rank() || from[0] != to[1] || from[1] != to[0]) {
    return false;
  }
  return (from[0] == 1) != (from[1] == 1) &&
         std::ranges::equal(from.dims().subspan(2), to.dims().subspan(2));
}

/// What a reshape moves. Complex numbers are pairs along a last axis, which the file does not know.
ValueId moved(OperatorImport& op) {
  return moves_complex(op) ? op.importer().complex(op.input_tensor(0)) : op.elements(0).front();
}

void emit_reshaped(OperatorImport& op, ValueId x, const ir::Shape& target) {
  if (!moves_complex(op)) return op.emit(ir::Reshape{target}, {x});
  op.importer().define(op.output_tensor(0), op.step(ir::Reshape{target}, {x}, "shaped"));
}

/// The target of a reshape that the file computes. -1 is what the other extents leave.
ir::Shape computed_target(OperatorImport& op, const ir::Shape& from) {
  std::vector<Dim> target;
  for (const ir::Extent& extent : op.extents(1)) {
    target.push_back(extent == ir::Extent(-1) ? ir::kRemaining : ir::dim_of(extent));
  }
  if (moves_complex(op)) target.push_back(2);
  return ir::resolve_extents(from, std::move(target), false);
}

void import_reshape(OperatorImport& op) {
  const auto* options = op.options<schema::ReshapeOptions>();
  std::vector<std::int64_t> request;
  if (op.has_input(1)) {
    if (op.is_computed(1)) {
      const ValueId x = moved(op);
      return emit_reshaped(op, x, computed_target(op, op.shape(x)));
    }
    request = op.integers(1);
  } else {
    check(options != nullptr && options->new_shape() != nullptr, "has no new shape");
    request = widened(elements(options->new_shape()));
  }
  check(request.size() <= FileModel::kMaxAxes, "the new shape has too many axes");
  const ValueId x = moved(op);
  if (moves_complex(op)) request.push_back(2);
  const ir::Shape target = op.reshape_target(x, request);
  if (!moves_complex(op) && exchanges_first_axes(op.shape(x), target)) {
    std::vector<std::size_t> exchange(target.rank());
    std::iota(exchange.begin(), exchange.end(), std::size_t{0});
    std::swap(exchange[0], exchange[1]);
    return op.emit(ir::Transpose{std::move(exchange)}, {x});
  }
  emit_reshaped(op, x, target);
}

void import_squeeze(OperatorImport& op) {
  const auto* options = op.options<schema::SqueezeOptions>();
  const ValueId x = moved(op);
  const ir::Shape from = op.shape(x);
  const std::size_t rank = from.rank() - (moves_complex(op) ? 1 : 0);
  std::vector<bool> removed(from.rank(), false);
  const auto axes =
      options == nullptr ? std::span<const std::int32_t>() : elements(options->squeeze_dims());
  for (const std::int32_t axis : axes) removed[ir::normalized_axis(axis, rank)] = true;
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const bool drop = axes.empty() && i < rank ? from[i] == 1 : removed[i];
    check(!drop || from[i] == 1,
          "axis " + std::to_string(i) + " of " + from.to_string() + " cannot be squeezed");
    if (!drop) dims.push_back(from[i]);
  }
  emit_reshaped(op, x, ir::Shape(std::move(dims)));
}

/// The shape with an additional axis of extent 1.
ir::Shape expanded(const ir::Shape& shape, std::size_t axis) {
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(axis), 1);
  return ir::Shape(std::move(dims));
}

/// The shape without an axis.
ir::Shape without_axis(const ir::Shape& shape, std::size_t axis) {
  std::vector<Dim> dims(shape.dims().begin(), shape.dims().end());
  dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
  return ir::Shape(std::move(dims));
}

std::int64_t only(const std::vector<std::int64_t>& numbers) {
  check(numbers.size() == 1, "expected one integer, found " + std::to_string(numbers.size()));
  return numbers.front();
}

void import_expand_dims(OperatorImport& op) {
  const ValueId x = moved(op);
  const std::size_t rank = op.shape(x).rank() - (moves_complex(op) ? 1 : 0);
  const std::size_t axis = ir::normalized_axis(only(op.integers(1)), rank + 1);
  emit_reshaped(op, x, expanded(op.shape(x), axis));
}

void import_transpose(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  std::vector<std::size_t> permutation;
  for (const std::int64_t axis : op.integers(1)) {
    permutation.push_back(ir::normalized_axis(axis, op.shape(x).rank()));
  }
  op.emit(ir::Transpose{std::move(permutation)}, {x});
}

void import_concatenation(OperatorImport& op) {
  const auto* options = op.options<schema::ConcatenationOptions>();
  check(op.num_inputs() > 0, "has no inputs");
  std::vector<ValueId> inputs = op.elements(0, op.num_inputs());
  const ir::Activation activation =
      options ? fused_activation(options->fused_activation_function()) : ir::Activation{};
  const std::size_t axis =
      ir::normalized_axis(options ? options->axis() : 0, op.shape(inputs[0]).rank());
  if (activation == ir::Activation{}) return op.emit(ir::Concat{axis}, std::move(inputs));
  const ValueId joined = op.step(ir::Concat{axis}, std::move(inputs), "concat");
  op.emit(ir::Unary{activation}, {joined});
}

void import_pack(OperatorImport& op) {
  const auto* options = op.options<schema::PackOptions>();
  check(op.num_inputs() > 0, "has no inputs");
  std::vector<ValueId> inputs = op.elements(0, op.num_inputs());
  const std::size_t axis =
      ir::normalized_axis(options ? options->axis() : 0, op.shape(inputs[0]).rank() + 1);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    check(axis <= op.shape(inputs[i]).rank(), "inputs of different ranks");
    const ir::Shape target = expanded(op.shape(inputs[i]), axis);
    inputs[i] = op.step(ir::Reshape{target}, {inputs[i]}, "input" + std::to_string(i));
  }
  op.emit(ir::Concat{axis}, std::move(inputs));
}

void import_unpack(OperatorImport& op) {
  const auto* options = op.options<schema::UnpackOptions>();
  const ValueId x = op.elements(0).front();
  const std::size_t axis = ir::normalized_axis(options ? options->axis() : 0, op.shape(x).rank());
  const ir::Shape from = op.shape(x);
  check(from[axis] == static_cast<Dim>(op.num_outputs()),
        "axis " + std::to_string(axis) + " of " + from.to_string() + ": expected an extent of " +
            std::to_string(op.num_outputs()) + ", one for each output");
  for (std::size_t i = 0; i < op.num_outputs(); ++i) {
    const ValueId part = op.step(ir::Slice{axis, i, 1, 1}, {x}, "part" + std::to_string(i));
    op.emit(ir::Reshape{without_axis(from, axis)}, {part}, i);
  }
}

void split(OperatorImport& op, ValueId x, std::size_t axis, std::span<const std::int64_t> sizes) {
  std::int64_t begin = 0;
  const Dim extent = op.shape(x)[axis];
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    check(sizes[i] >= 0 && sizes[i] <= extent - begin,
          "parts do not fit an extent of " + std::to_string(extent));
    op.emit(ir::Slice{axis, static_cast<std::size_t>(begin), 1, static_cast<std::size_t>(sizes[i])},
            {x}, i);
    begin += sizes[i];
  }
  check(begin == extent, "parts do not fill an extent of " + std::to_string(extent));
}

void import_split(OperatorImport& op) {
  const ValueId x = op.elements(1).front();
  const std::size_t axis = ir::normalized_axis(only(op.integers(0)), op.shape(x).rank());
  const auto parts = static_cast<std::int64_t>(op.num_outputs());
  const Dim extent = op.shape(x)[axis];
  check(extent >= 0 && extent % parts == 0, "an extent of " + std::to_string(extent) +
                                                " is not divisible into " + std::to_string(parts) +
                                                " equal parts");
  split(op, x, axis, std::vector<std::int64_t>(op.num_outputs(), extent / parts));
}

void import_split_v(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  std::vector<std::int64_t> sizes = op.integers(1);
  const std::size_t axis = ir::normalized_axis(only(op.integers(2)), op.shape(x).rank());
  check(sizes.size() == op.num_outputs(), "expected a size for each of " +
                                              std::to_string(op.num_outputs()) +
                                              " outputs, found " + std::to_string(sizes.size()));
  const auto open = std::ranges::find(sizes, -1);
  if (open != sizes.end()) {
    std::int64_t rest = op.shape(x)[axis];
    for (const std::int64_t size : sizes) {
      check(size >= -1 && size <= rest, "parts do not fit the extent");
      rest -= size == -1 ? 0 : size;
    }
    *open = rest;
  }
  split(op, x, axis, sizes);
}

void import_shape(OperatorImport& op) {
  Extents extents;
  for (const Dim dim : op.shape(op.raw(0)).dims()) extents.push_back(ir::extent_of(dim));
  op.emit_extents(extents);
}

constexpr ImportEntry kLayoutImports[] = {
    {OperatorCode::kShape, import_shape},
    {OperatorCode::kReshape, import_reshape},
    {OperatorCode::kSqueeze, import_squeeze},
    {OperatorCode::kExpandDims, import_expand_dims},
    {OperatorCode::kTranspose, import_transpose},
    {OperatorCode::kConcatenation, import_concatenation},
    {OperatorCode::kPack, import_pack},
    {OperatorCode::kUnpack, import_unpack},
    {OperatorCode::kSplit, import_split},
    {OperatorCode::kSplitV, import_split_v},
};

}  // namespace

std::span<const ImportEntry> layout_imports() { return kLayoutImports; }

}  // namespace halftone::formats::circle
