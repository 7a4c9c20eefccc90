// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/ranks/division.h"

#include <algorithm>
#include <utility>

namespace halftone::lm {
namespace {

/// Rows that kernels of group codes compute together.
constexpr std::size_t kStripRows = 64;

/// Share `index` of `count` equal ones.
Range share_of(std::size_t size, std::size_t index, std::size_t count) {
  const std::size_t begin = size * index / count;
  return {begin, size * (index + 1) / count - begin};
}

/// An array as outer x extent x inner_bytes.
struct Pieces {
  std::size_t outer = 1;
  std::size_t extent = 0;
  std::size_t inner_bytes = 0;
};

/// @param bytes  of all elements
Pieces pieces_of(const ir::Shape& shape, std::size_t axis, std::size_t bytes) {
  Pieces pieces{.extent = static_cast<std::size_t>(shape[axis])};
  for (std::size_t i = 0; i < axis; ++i) pieces.outer *= static_cast<std::size_t>(shape[i]);
  pieces.inner_bytes = bytes / (pieces.outer * pieces.extent);
  return pieces;
}

/// The bytes of a range of the axis.
SharedBytes bytes_of(const SharedBytes& whole, const Pieces& pieces, const Range& range) {
  if (pieces.outer == 1) {
    return whole.part(range.begin * pieces.inner_bytes, range.count * pieces.inner_bytes);
  }
  constexpr std::size_t kBehind = 64;  // that kernels may read
  const std::size_t size = range.count * pieces.inner_bytes;
  std::vector<std::byte> copy;
  copy.reserve(pieces.outer * size + kBehind);
  for (std::size_t i = 0; i < pieces.outer; ++i) {
    const auto piece =
        whole.bytes.subspan((i * pieces.extent + range.begin) * pieces.inner_bytes, size);
    copy.insert(copy.end(), piece.begin(), piece.end());
  }
  copy.resize(pieces.outer * size + kBehind);
  return own_bytes(std::move(copy)).part(0, pieces.outer * size);
}

}  // namespace

Division scaled(Division division, std::size_t width) {
  for (Range& range : division.ranges) {
    range.begin *= width;
    range.count *= width;
  }
  return division;
}

std::optional<Division> divided_by(Division division, std::size_t width) {
  for (Range& range : division.ranges) {
    if (range.begin % width != 0 || range.count % width != 0) return std::nullopt;
    range.begin /= width;
    range.count /= width;
  }
  return division;
}

std::vector<Range> ranges_of_rows(std::size_t rows, std::size_t ranks) {
  const std::size_t unit = rows % kStripRows == 0 && rows / kStripRows >= ranks ? kStripRows : 1;
  Division division;
  for (std::size_t r = 0; r < ranks; ++r) {
    division.ranges.push_back(share_of(rows / unit, r, ranks));
  }
  return scaled(std::move(division), unit).ranges;
}

HeadRanges ranges_of_heads(const ir::Attention& op, std::size_t ranks) {
  const std::size_t group = op.heads / op.kv_heads;
  HeadRanges found;
  for (std::size_t r = 0; r < ranks; ++r) {
    if (op.kv_heads >= ranks) {
      const Range keys = share_of(op.kv_heads, r, ranks);
      found.kv_heads.push_back(keys);
      found.heads.push_back({keys.begin * group, keys.count * group});
      continue;
    }
    // Ranks `first` to `end` share the heads of one head of keys.
    const std::size_t head = r * op.kv_heads / ranks;
    const std::size_t first = (head * ranks + op.kv_heads - 1) / op.kv_heads;
    const std::size_t end = ((head + 1) * ranks + op.kv_heads - 1) / op.kv_heads;
    Range own = share_of(group, r - first, end - first);
    own.count = std::max<std::size_t>(own.count, 1);
    own.begin += head * group;
    found.kv_heads.push_back({head, 1});
    found.heads.push_back(own);
  }
  return found;
}

ir::Shape part_of(ir::Shape shape, const Division& division, std::size_t rank) {
  shape[division.axis_of(shape)] = static_cast<ir::Dim>(division.ranges[rank].count);
  return shape;
}

ir::Constant part_of(const std::shared_ptr<const ir::Constant>& whole, const Division& division,
                     std::size_t rank) {
  const Range& range = division.ranges[rank];
  if (const auto* blocks = std::get_if<ir::BlockTensor>(whole.get())) {
    const std::size_t axis = division.axis_of(blocks->shape);
    const std::size_t bytes = ir::matrix_extent(blocks->shape).rows * blocks->row_bytes();
    return ir::BlockTensor{part_of(blocks->shape, division, rank), blocks->encoding,
                           bytes_of(blocks->bytes, pieces_of(blocks->shape, axis, bytes), range)};
  }
  const auto& tensor = std::get<ir::Tensor>(*whole);
  const std::size_t axis = division.axis_of(tensor.shape());
  const auto bytes = tensor.bytes();
  const SharedBytes all{.owner = whole, .bytes = bytes, .readable_behind = 64};
  ir::Tensor part =
      ir::Tensor::view(tensor.element(), part_of(tensor.shape(), division, rank),
                       bytes_of(all, pieces_of(tensor.shape(), axis, bytes.size()), range));
  if (!tensor.is_view()) static_cast<void>(part.bytes());  // a copy does not keep the whole
  return part;
}

}  // namespace halftone::lm
