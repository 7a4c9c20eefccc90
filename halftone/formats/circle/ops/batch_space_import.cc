// SPDX-License-Identifier: Apache-2.0
// Blocks of an image as samples of their own, and back. Between a convolution's see dilated.h.
#include <utility>

#include "halftone/formats/circle/check.h"
#include "halftone/formats/circle/importer.h"

namespace halftone::formats::circle {

using ir::Dim;
using ir::ValueId;

SpaceBlocks space_blocks(OperatorImport& op) {
  constexpr std::int64_t kFar = std::int64_t{1} << 31;
  SpaceBlocks blocks{op.integers(1), op.integers(2)};
  check(!blocks.sizes.empty() && blocks.margins.size() == 2 * blocks.sizes.size(),
        "expected two margins for each block size");
  for (const Dim size : blocks.sizes)
    check(size > 0 && size < kFar, "a block size is out of range");
  for (const Dim size : blocks.margins) check(size >= 0 && size < kFar, "a margin is out of range");
  return blocks;
}

namespace {

/// @throws Error kShape if the batch is open, which makes the importer try that of the file
ir::Shape static_shape(OperatorImport& op, ValueId x, std::size_t num_blocks) {
  ir::Shape shape = op.shape(x);
  check(shape.rank() > num_blocks, "more block sizes than axes in " + shape.to_string());
  if (!shape.is_static()) fail(ErrorKind::kShape, "blocks of an open batch");
  return shape;
}

/// Axes and extents of the view with split axes: [first.., (s_i, b_i)..., rest...].
struct AxisParts {
  std::vector<Dim> split;             ///< the view of the image
  std::vector<std::size_t> to_batch;  ///< the order of its axes with blocks first
  std::vector<Dim> joined;            ///< the shape with blocks as samples
};

/// @param image  whose axes after the first are multiples of the block sizes
AxisParts parts_of(const ir::Shape& image, const std::vector<Dim>& sizes) {
  AxisParts parts{{image[0]}, {}, {image[0]}};
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const Dim extent = image[i + 1];
    check(extent % sizes[i] == 0, "an extent of " + std::to_string(extent) +
                                      " does not divide into blocks of " +
                                      std::to_string(sizes[i]));
    parts.split.insert(parts.split.end(), {extent / sizes[i], sizes[i]});
    parts.to_batch.push_back(2 * i + 2);
    parts.joined[0] *= sizes[i];
    parts.joined.push_back(extent / sizes[i]);
  }
  parts.to_batch.push_back(0);
  for (std::size_t i = 0; i < sizes.size(); ++i) parts.to_batch.push_back(2 * i + 1);
  for (std::size_t axis = sizes.size() + 1; axis < image.rank(); ++axis) {
    parts.to_batch.push_back(parts.split.size());
    parts.split.push_back(image[axis]);
    parts.joined.push_back(image[axis]);
  }
  return parts;
}

void import_space_to_batch(OperatorImport& op) {
  const SpaceBlocks blocks = space_blocks(op);
  ValueId x = op.numeric(0);
  const ir::Shape from = static_shape(op, x, blocks.sizes.size());
  ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(from.rank(), 0),
              std::vector<std::size_t>(from.rank(), 0)};
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    pad.before[i + 1] = static_cast<std::size_t>(blocks.margins[2 * i]);
    pad.after[i + 1] = static_cast<std::size_t>(blocks.margins[2 * i + 1]);
  }
  x = op.step(std::move(pad), {x}, "padded");
  AxisParts parts = parts_of(op.shape(x), blocks.sizes);
  x = op.step(ir::Reshape{ir::Shape(std::move(parts.split))}, {x}, "split");
  x = op.step(ir::Transpose{std::move(parts.to_batch)}, {x}, "turned");
  op.emit(ir::Reshape{ir::Shape(std::move(parts.joined))}, {x});
}

void import_batch_to_space(OperatorImport& op) {
  const SpaceBlocks blocks = space_blocks(op);
  ValueId x = op.numeric(0);
  const ir::Shape from = static_shape(op, x, blocks.sizes.size());
  std::vector<Dim> image(from.dims().begin(), from.dims().end());
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    check(image[0] % blocks.sizes[i] == 0, "the samples do not divide into blocks");
    image[0] /= blocks.sizes[i];
    image[i + 1] *= blocks.sizes[i];
  }
  const AxisParts parts = parts_of(ir::Shape(image), blocks.sizes);
  std::vector<Dim> turned;
  std::vector<std::size_t> back(parts.to_batch.size());
  for (std::size_t i = 0; i < parts.to_batch.size(); ++i) {
    turned.push_back(parts.split[parts.to_batch[i]]);
    back[parts.to_batch[i]] = i;
  }
  x = op.step(ir::Reshape{ir::Shape(std::move(turned))}, {x}, "split");
  x = op.step(ir::Transpose{std::move(back)}, {x}, "turned");
  x = op.step(ir::Reshape{ir::Shape(image)}, {x}, "joined");
  for (std::size_t i = 0; i < blocks.sizes.size(); ++i) {
    const Dim kept = image[i + 1] - blocks.margins[2 * i] - blocks.margins[2 * i + 1];
    check(kept >= 0, "crops exceed an extent of " + std::to_string(image[i + 1]));
    x = op.step(ir::Slice{i + 1, static_cast<std::size_t>(blocks.margins[2 * i]), 1,
                          static_cast<std::size_t>(kept)},
                {x}, "cropped" + std::to_string(i));
  }
  op.alias(x);
}

constexpr ImportEntry kBatchSpaceImports[] = {
    {OperatorCode::kSpaceToBatchNd, import_space_to_batch},
    {OperatorCode::kBatchToSpaceNd, import_batch_to_space},
};

}  // namespace

std::span<const ImportEntry> batch_space_imports() { return kBatchSpaceImports; }

}  // namespace halftone::formats::circle
