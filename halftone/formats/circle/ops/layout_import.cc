// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdlib>
#include <numeric>
#include <optional>
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

/// The target of a reshape that the file computes from the batch. -1 in the constant is what the
/// other extents leave.
ir::Shape symbolic_target(OperatorImport& op, const ir::Shape& from) {
  std::vector<Dim> target = op.extents(1);
  const auto& constant = std::get<ir::Tensor>(*op.graph().constant(op.raw(1)));
  const ir::Tensor example = constant.cast(ir::ElementType::kInt64);
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (example.as<std::int64_t>()[i] == -1) target[i] = ir::kRemaining;
  }
  if (moves_complex(op)) target.push_back(2);
  return ir::resolve_extents(from, std::move(target), false);
}

void import_reshape(OperatorImport& op) {
  const auto* options = op.options<schema::ReshapeOptions>();
  std::vector<std::int64_t> request;
  if (op.has_input(1)) {
    if (op.importer().symbolic(op.raw(1)) != nullptr) {
      const ValueId x = moved(op);
      return emit_reshaped(op, x, symbolic_target(op, op.shape(x)));
    }
    request = op.requested(1);
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

/// The part of one axis that an operator selects.
struct Range {
  std::int64_t begin = 0;
  std::int64_t step = 1;
  std::int64_t count = 0;
};

using Ranges = std::vector<std::optional<Range>>;  ///< indexed by axis; nullopt: the whole axis

ir::Slice slice_of(std::size_t axis, const Range& range) {
  return {axis, static_cast<std::size_t>(range.begin), range.step,
          static_cast<std::size_t>(range.count)};
}

/// Slices the ranges; then, if axes are dropped, reshapes to the shape without them.
void emit_slices(OperatorImport& op, ValueId x, const Ranges& ranges,
                 const std::optional<ir::Shape>& shrunk) {
  std::optional<ir::Slice> last;
  for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
    if (!ranges[axis]) continue;
    if (last) x = op.step(*last, {x}, "axis" + std::to_string(last->axis));
    last = slice_of(axis, *ranges[axis]);
  }
  if (shrunk) {
    if (last) x = op.step(*last, {x}, "axis" + std::to_string(last->axis));
    op.emit(ir::Reshape{*shrunk}, {x});
  } else if (last) {
    op.emit(*last, {x});
  } else {
    op.alias(x);
  }
}

/// A range of extents that only a run tells.
std::optional<Range> open_range(Dim extent, Dim begin, Dim size) {
  if (begin == 0 && (size == -1 || size == extent)) return std::nullopt;
  check(begin >= 0 || ir::is_expression(begin), "begin is out of range");
  if (size == -1) {
    size = ir::dim_of(ir::extent_of(extent) - ir::extent_of(begin));
  }
  check(size >= 0 || ir::is_expression(size), "size is out of range");
  return Range{begin, 1, size};
}

void import_slice(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  const ir::Shape from = op.shape(x);
  const std::vector<Dim> begins = op.positions(1);
  const std::vector<Dim> sizes = op.positions(2);
  check(begins.size() == from.rank() && sizes.size() == from.rank(),
        "expected a begin and a size for each axis of " + from.to_string());
  Ranges ranges(from.rank());
  for (std::size_t i = 0; i < from.rank(); ++i) {
    if (ir::is_expression(from[i]) || ir::is_expression(begins[i]) || ir::is_expression(sizes[i])) {
      ranges[i] = open_range(from[i], begins[i], sizes[i]);
      continue;
    }
    const Dim extent = OperatorImport::whole_extent(from[i]);
    check(begins[i] >= 0 && begins[i] <= extent, "begin is out of range");
    const std::int64_t size = sizes[i] == -1 ? extent - begins[i] : sizes[i];
    check(size >= 0 && size <= extent - begins[i], "size is out of range");
    if (size != extent) ranges[i] = Range{begins[i], 1, size};
  }
  emit_slices(op, x, ranges, std::nullopt);
}

/// begin:end:step along an axis with NumPy's semantics; masked ends are open.
Range strided_range(std::int64_t extent, std::optional<std::int64_t> begin,
                    std::optional<std::int64_t> end, std::int64_t step) {
  const auto bounded = [&](std::int64_t index) {
    if (index < 0) index += extent;
    return step > 0 ? std::clamp<std::int64_t>(index, 0, extent)
                    : std::clamp<std::int64_t>(index, -1, extent - 1);
  };
  const std::int64_t first = begin ? bounded(*begin) : (step > 0 ? 0 : extent - 1);
  const std::int64_t last = end ? bounded(*end) : (step > 0 ? extent : -1);
  const std::int64_t distance = step > 0 ? last - first : first - last;
  const std::int64_t width = step > 0 ? step : -step;
  const std::int64_t count = distance <= 0 ? 0 : (distance - 1) / width + 1;
  return {count == 0 ? 0 : first, count == 0 ? 1 : step, count};
}

bool masked(std::int32_t mask, std::size_t axis) { return axis < 31 && (mask >> axis & 1) != 0; }

void import_strided_slice(OperatorImport& op) {
  const auto* options = op.options<schema::StridedSliceOptions>();
  schema::StridedSliceOptionsT masks;
  if (options != nullptr) options->UnPackTo(&masks);
  const ValueId x = op.elements(0).front();
  const ir::Shape from = op.shape(x);
  const auto begins = op.positions(1);
  const auto ends = op.positions(2);
  const auto steps = op.integers(3);
  if (masks.ellipsis_mask != 0 || masks.new_axis_mask != 0 || masks.offset) {
    fail(ErrorKind::kUnsupported, "ellipsis, new axes and offset ends are not supported");
  }
  check(
      begins.size() <= from.rank() && begins.size() == ends.size() && begins.size() == steps.size(),
      "expected a begin, an end and a step for the axes of " + from.to_string());
  Ranges ranges(from.rank());
  std::vector<Dim> kept;
  for (std::size_t i = 0; i < from.rank(); ++i) {
    const Dim extent = OperatorImport::whole_extent(from[i]);
    const bool shrinks = i < begins.size() && masked(masks.shrink_axis_mask, i);
    if (i < begins.size()) {
      constexpr std::int64_t kFar = std::int64_t{1} << 40;
      if (ir::is_expression(begins[i]) || ir::is_expression(ends[i])) {
        fail(ErrorKind::kUnsupported, "a begin or end that the network computes");
      }
      check(steps[i] != 0 && std::abs(steps[i]) < kFar && std::abs(begins[i]) < kFar &&
                std::abs(ends[i]) < kFar,
            "a begin, end or step is out of range");
      const auto end = masked(masks.end_mask, i) ? std::nullopt : std::optional(ends[i]);
      const auto begin = masked(masks.begin_mask, i) ? std::nullopt : std::optional(begins[i]);
      Range range = strided_range(extent, begin, end, steps[i]);
      if (shrinks) range = {begins[i] < 0 ? begins[i] + extent : begins[i], 1, 1};
      check(range.begin >= 0 && range.begin <= extent, "begin is out of range");
      if (range.count != extent || (range.step != 1 && extent > 1)) ranges[i] = range;
    }
    if (!shrinks) kept.push_back(ranges[i] ? static_cast<Dim>(ranges[i]->count) : from[i]);
  }
  const bool shrinks = kept.size() != from.rank();
  emit_slices(op, x, ranges, shrinks ? std::optional(ir::Shape(std::move(kept))) : std::nullopt);
}

/// The extents in the file, as a constant, and for any batch.
void import_shape(OperatorImport& op) {
  const ir::Shape from = op.shape(op.raw(0));
  const std::vector<Dim> dims(from.dims().begin(), from.dims().end());
  const ir::Shape rank{static_cast<Dim>(dims.size())};
  ir::Tensor extents(ir::ElementType::kInt64, rank);
  for (std::size_t i = 0; i < dims.size(); ++i) {
    extents.as<std::int64_t>()[i] = op.file_extent(dims[i]);
  }
  const auto type = op.importer().file().tensor(op.output_tensor(0)).type();
  const bool is_wide = type == schema::TensorType::INT64;
  op.emit_extents(is_wide ? std::move(extents) : extents.cast(ir::ElementType::kInt32),
                  ir::Tensor::from<std::int64_t>(rank, std::span(dims)));
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
    {OperatorCode::kSlice, import_slice},
    {OperatorCode::kStridedSlice, import_strided_slice},
};

}  // namespace

std::span<const ImportEntry> layout_imports() { return kLayoutImports; }

}  // namespace halftone::formats::circle
