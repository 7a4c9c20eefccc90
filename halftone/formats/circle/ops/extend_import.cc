// SPDX-License-Identifier: Apache-2.0
// Padding, repeating, resampling and selecting elements.
#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::Dim;
using ir::ValueId;

/// Extents that are not negative.
std::vector<std::size_t> counts(const Extents& extents) {
  constexpr std::int64_t kFar = std::int64_t{1} << 40;
  std::vector<std::size_t> result;
  for (const ir::Extent& extent : extents) {
    const std::int64_t number = extent.number().value_or(0);
    check(number >= 0 && number <= kFar, "a count is out of range: " + extent.text());
    result.push_back(static_cast<std::size_t>(ir::dim_of(extent)));
  }
  return result;
}

/// The paddings [rank, 2] of input 1.
ir::Pad pad_of(OperatorImport& op, ValueId x, ir::PadMode mode) {
  const std::vector<std::size_t> both = counts(op.extents(1));
  const std::size_t rank = op.shape(x).rank();
  check(both.size() == 2 * rank,
        "expected two numbers for each axis of " + op.shape(x).to_string());
  ir::Pad pad{mode, {}, {}};
  for (std::size_t i = 0; i < rank; ++i) {
    pad.before.push_back(both[2 * i]);
    pad.after.push_back(both[2 * i + 1]);
  }
  return pad;
}

/// Quantized integers are padded with the real value 0, not with the code 0.
void import_pad(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  op.emit(pad_of(op, x, ir::PadMode::kConstant), {x});
}

void import_pad_with_value(OperatorImport& op) {
  const ValueId x = op.numeric(0);
  ValueId value = op.numeric(2);
  if (op.shape(value).rank() != 0) value = op.step(ir::Reshape{{}}, {value}, "value");
  op.emit(pad_of(op, x, ir::PadMode::kConstant), {x, value});
}

/// Mirrors the elements along an axis, each edge included.
ValueId mirrored(OperatorImport& op, ValueId x, std::size_t axis, const ir::Pad& pad) {
  const Dim extent = op.shape(x)[axis];
  const auto count = static_cast<std::size_t>(std::max<Dim>(extent, 0));
  const auto is_open = [](std::size_t n) { return ir::is_expression(static_cast<Dim>(n)); };
  if (is_open(pad.before[axis]) || is_open(pad.after[axis])) {
    op.refuse_input(1, "expected constant paddings to mirror with the edges");
  }
  check(extent >= 0 && pad.before[axis] <= count && pad.after[axis] <= count,
        "more padding than the elements of " + op.shape(x).to_string());
  std::vector<ValueId> parts = {x};
  if (const std::size_t n = pad.before[axis]; n > 0) {
    parts.insert(parts.begin(), op.step(ir::Slice{axis, n - 1, -1, n}, {x}, "before"));
  }
  if (const std::size_t n = pad.after[axis]; n > 0) {
    parts.push_back(op.step(ir::Slice{axis, count - 1, -1, n}, {x}, "after"));
  }
  return op.step(ir::Concat{axis}, std::move(parts), "mirrored");
}

void import_mirror_pad(OperatorImport& op) {
  const auto* options = op.options<schema::MirrorPadOptions>();
  ValueId x = op.elements(0).front();
  const ir::Pad pad = pad_of(op, x, ir::PadMode::kReflect);
  if (options == nullptr || options->mode() == schema::MirrorPadMode::REFLECT) {
    return op.emit(pad, {x});
  }
  for (std::size_t axis = 0; axis < pad.before.size(); ++axis) {
    if (pad.before[axis] + pad.after[axis] > 0) x = mirrored(op, x, axis, pad);
  }
  op.alias(x);
}

ir::Shape counted_shape(const std::vector<std::size_t>& counts) {
  return ir::Shape(std::vector<Dim>(counts.begin(), counts.end()));
}

/// Axes of one element are repeated for every sample of the batch.
void import_tile(OperatorImport& op) {
  ValueId x = op.elements(0).front();
  const ir::Shape from = op.shape(x);
  std::vector<std::size_t> repeats = counts(op.extents(1));
  check(repeats.size() == from.rank(), "expected a number for each axis");
  ir::Shape samples = from;
  for (std::size_t i = 0; i < repeats.size(); ++i) {
    if (!ir::depends_on_batch(static_cast<Dim>(repeats[i])) || from[i] != 1) continue;
    samples[i] = static_cast<Dim>(std::exchange(repeats[i], 1));
  }
  const auto counts_samples = [](std::size_t n) { return ir::depends_on_batch(Dim(n)); };
  const bool mixes = std::ranges::count_if(samples.dims(), ir::depends_on_batch) > 1;
  if (std::ranges::any_of(repeats, counts_samples) || (samples != from && mixes)) {
    op.importer().refuse_count(op.graph().value(op.raw(1)).name);
  }
  if (samples != from) x = op.step(ir::BroadcastTo{samples}, {x}, "batch");
  op.emit(ir::Tile{std::move(repeats)}, {x});
}

void import_broadcast_to(OperatorImport& op) {
  const ValueId x = op.elements(0).front();
  op.emit(ir::BroadcastTo{counted_shape(counts(op.extents(1)))}, {x});
}

/// A value repeated for every element of a shape.
void import_fill(OperatorImport& op) {
  op.emit(ir::BroadcastTo{counted_shape(counts(op.extents(0)))}, {op.elements(1).front()});
}

/// Reverses one axis at a time.
void import_reverse(OperatorImport& op) {
  ValueId x = op.elements(0).front();
  const ir::Shape shape = op.shape(x);
  const std::vector<std::int64_t> axes = op.integers(1);
  if (axes.empty()) return op.alias(x);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const std::size_t axis = ir::normalized_axis(axes[i], shape.rank());
    if (ir::depends_on_batch(shape[axis])) op.importer().refuse_count(op.graph().value(x).name);
    const ir::Extent last = ir::Extent::greatest(0, ir::extent_of(shape[axis]) - 1);
    const ir::Slice slice{axis, static_cast<std::size_t>(ir::dim_of(last)), -1,
                          static_cast<std::size_t>(shape[axis])};
    if (i + 1 == axes.size()) return op.emit(slice, {x});
    x = op.step(slice, {x}, "axis" + std::to_string(axis));
  }
}

/// A gather for each index along the leading axes, which both inputs have.
void import_batched_gather(OperatorImport& op, ValueId x, std::size_t axis, std::size_t shared) {
  ValueId indices = op.raw(1);
  const std::size_t rank = op.shape(x).rank();
  const std::size_t chosen = op.shape(indices).rank() - shared;
  // The axis goes behind the shared ones, then the new axes go to where it was.
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto at = [&order](std::size_t i) {
    return order.begin() + static_cast<std::ptrdiff_t>(i);
  };
  std::rotate(at(shared), at(axis), at(axis + 1));
  if (axis != shared) x = op.step(ir::Transpose{order}, {x}, "moved");
  std::vector<Dim> dims(op.shape(indices).dims().begin(), op.shape(indices).dims().end());
  dims.push_back(1);
  indices = op.step(ir::Reshape{ir::Shape(std::move(dims))}, {indices}, "rows");
  const ir::GatherND gather{shared};
  if (axis == shared || chosen == 0) return op.emit(gather, {x, indices});
  order.resize(rank - 1 + chosen);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::rotate(at(shared), at(shared + chosen), at(axis + chosen));
  op.emit(ir::Transpose{order}, {op.step(gather, {x, indices}, "gathered")});
}

void import_gather(OperatorImport& op) {
  const auto* options = op.options<schema::GatherOptions>();
  const ValueId x = op.elements(0).front();
  const std::size_t axis =
      ir::normalized_axis(options != nullptr ? options->axis() : 0, op.shape(x).rank());
  const std::size_t rank = op.shape(op.raw(1)).rank();
  std::int64_t shared = options != nullptr ? options->batch_dims() : 0;
  if (shared < 0) shared += static_cast<std::int64_t>(rank);
  check(shared >= 0 && shared <= static_cast<std::int64_t>(std::min(axis, rank)),
        "batch_dims: expected at most the axis and the axes of the indices");
  if (shared == 0) return op.emit(ir::Gather{axis}, {x, op.raw(1)});
  import_batched_gather(op, x, axis, static_cast<std::size_t>(shared));
}

void import_gather_nd(OperatorImport& op) {
  op.emit(ir::GatherND{0}, {op.elements(0).front(), op.raw(1)});
}

void import_embedding_lookup(OperatorImport& op) {
  op.emit(ir::Gather{0}, {op.elements(1).front(), op.raw(0)});
}

/// Inputs: indices, depth, the value at the index, the value elsewhere.
void import_one_hot(OperatorImport& op) {
  const auto* options = op.options<schema::OneHotOptions>();
  const ValueId indices = op.raw(0);
  const std::vector<std::size_t> depth = counts(op.extents(1));
  check(depth.size() == 1, "expected one depth");
  const auto value = [&](std::size_t i, const char* role) {
    return op.step(ir::Reshape{{1}}, {op.numeric(i)}, role);
  };
  const ValueId on = value(2, "on");
  const ValueId values = op.step(ir::Concat{0}, {value(3, "off"), on}, "values");
  const std::size_t axis =
      ir::normalized_axis(options != nullptr ? options->axis() : -1, op.shape(indices).rank() + 1);
  op.emit(ir::OneHot{axis, depth[0]}, {indices, values});
}

/// A condition with fewer axes selects along the leading axes.
void import_select(OperatorImport& op) {
  ValueId condition = op.raw(0);
  const ValueId a = op.numeric(1);
  const ir::Shape from = op.shape(condition);
  if (from.rank() == 1 && op.shape(a).rank() > 1) {
    std::vector<Dim> dims(op.shape(a).rank(), 1);
    dims[0] = from[0];
    condition = op.step(ir::Reshape{ir::Shape(std::move(dims))}, {condition}, "condition");
  }
  op.emit(ir::Where{}, {condition, a, op.numeric(2)});
}

void import_select_broadcast(OperatorImport& op) {
  op.emit(ir::Where{}, {op.raw(0), op.numeric(1), op.numeric(2)});
}

/// Resizes one axis of an image at a time.
void emit_resize(OperatorImport& op, ir::Resize resize) {
  ValueId x = op.number(0);
  const ir::Shape image = op.shape(x);
  const std::vector<std::size_t> size = counts(op.extents(1));
  resize.multiplies = true;
  check(image.rank() == 4 && image[1] > 0 && image[2] > 0 && size.size() == 2 && size[0] > 0 &&
            size[1] > 0,
        "expected an image [N, h, w, C] and two extents, found " + image.to_string());
  for (std::size_t i = 0; i < 2; ++i) {
    resize.axis = i + 1;
    resize.count = size[i];
    // Of a size that the network computes, the scale is the quotient once it is known.
    const bool is_known = !ir::is_expression(static_cast<Dim>(size[i]));
    resize.scale = is_known ? static_cast<float>(size[i]) / static_cast<float>(image[i + 1]) : 0;
    if (i == 0) x = op.step(resize, {x}, "rows");
  }
  op.emit(resize, {x});
}

void import_resize_bilinear(OperatorImport& op) {
  const auto* options = op.options<schema::ResizeBilinearOptions>();
  ir::Resize resize;
  resize.mode = ir::Interpolation::kLinear;
  resize.coordinates = ir::Coordinates::kAsymmetric;
  if (options != nullptr && options->align_corners()) {
    resize.coordinates = ir::Coordinates::kAlignCorners;
  } else if (options != nullptr && options->half_pixel_centers()) {
    resize.coordinates = ir::Coordinates::kHalfPixel;
  }
  emit_resize(op, resize);
}

void import_resize_nearest(OperatorImport& op) {
  const auto* options = op.options<schema::ResizeNearestNeighborOptions>();
  ir::Resize resize;
  resize.coordinates = ir::Coordinates::kAsymmetric;
  resize.rounding = ir::NearestMode::kFloor;
  if (options != nullptr && options->align_corners()) {
    resize.coordinates = ir::Coordinates::kAlignCorners;
    resize.rounding = ir::NearestMode::kPreferCeil;
  } else if (options != nullptr && options->half_pixel_centers()) {
    resize.coordinates = ir::Coordinates::kHalfPixelForNearest;
  }
  emit_resize(op, resize);
}

/// An image [N, h, w, C] and the block size; no product of extents overflows.
struct Blocks {
  ValueId x;
  ir::Shape image;
  Dim size;
};

template <typename Options>
Blocks blocks_of(OperatorImport& op) {
  const auto* options = op.options<Options>();
  check(options != nullptr && options->block_size() > 0, "expected a positive block size");
  const ValueId x = op.elements(0).front();
  const ir::Shape image = op.shape(x);
  check(image.rank() == 4, "expected an image [N, h, w, C], found " + image.to_string());
  return {x, image, options->block_size()};
}

constexpr std::array<std::size_t, 6> kBlockOrder = {0, 1, 3, 2, 4, 5};

/// Splits the image into six axes, permutes the middle ones and merges them again.
void emit_blocks(OperatorImport& op, ValueId x, ir::Shape split, ir::Shape joined) {
  const ValueId parts = op.step(ir::Reshape{std::move(split)}, {x}, "split");
  const ValueId turned =
      op.step(ir::Transpose{std::vector<std::size_t>(kBlockOrder.begin(), kBlockOrder.end())},
              {parts}, "turned");
  op.emit(ir::Reshape{std::move(joined)}, {turned});
}

void import_depth_to_space(OperatorImport& op) {
  const auto [x, image, size] = blocks_of<schema::DepthToSpaceOptions>(op);
  check(image[3] % size == 0 && image[3] / size % size == 0,
        "channels of " + image.to_string() + " do not divide into blocks");
  const Dim channels = image[3] / size / size;
  emit_blocks(op, x, {image[0], image[1], image[2], size, size, channels},
              {image[0], image[1] * size, image[2] * size, channels});
}

void import_space_to_depth(OperatorImport& op) {
  const auto [x, image, size] = blocks_of<schema::SpaceToDepthOptions>(op);
  check(image[1] % size == 0 && image[2] % size == 0,
        "extents of " + image.to_string() + " do not divide into blocks");
  emit_blocks(op, x, {image[0], image[1] / size, size, image[2] / size, size, image[3]},
              {image[0], image[1] / size, image[2] / size, size * size * image[3]});
}

constexpr ImportEntry kExtendImports[] = {
    {OperatorCode::kPad, import_pad},
    {OperatorCode::kPadV2, import_pad_with_value},
    {OperatorCode::kMirrorPad, import_mirror_pad},
    {OperatorCode::kTile, import_tile},
    {OperatorCode::kBroadcastTo, import_broadcast_to},
    {OperatorCode::kFill, import_fill},
    {OperatorCode::kReverseV2, import_reverse},
    {OperatorCode::kGather, import_gather},
    {OperatorCode::kGatherNd, import_gather_nd},
    {OperatorCode::kEmbeddingLookup, import_embedding_lookup},
    {OperatorCode::kOneHot, import_one_hot},
    {OperatorCode::kSelect, import_select},
    {OperatorCode::kSelectV2, import_select_broadcast},
    {OperatorCode::kResizeBilinear, import_resize_bilinear},
    {OperatorCode::kResizeNearestNeighbor, import_resize_nearest},
    {OperatorCode::kDepthToSpace, import_depth_to_space},
    {OperatorCode::kSpaceToDepth, import_space_to_depth},
};

}  // namespace

std::span<const ImportEntry> extend_imports() { return kExtendImports; }

}  // namespace halftone::formats::circle
