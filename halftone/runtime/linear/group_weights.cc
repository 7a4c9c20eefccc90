// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/group_weights.h"

#include <algorithm>
#include <vector>

#include "halftone/runtime/shares.h"

namespace halftone::runtime {
namespace {

/// How kernels store scales that a file stores so.
kernels::GroupScales scales_of(numerics::BlockScales scales) {
  switch (scales) {
    case numerics::BlockScales::kHalf:
      return kernels::GroupScales::kHalf;
    case numerics::BlockScales::kHalfTimesByte:
      return kernels::GroupScales::kHalfTimesByte;
    case numerics::BlockScales::kPowerOfTwo:
      return kernels::GroupScales::kPowerOfTwo;
    case numerics::BlockScales::kE3m5:
      return kernels::GroupScales::kE3m5;
  }
  return kernels::GroupScales::kFloat;
}

kernels::GroupFormat format_of(const numerics::SharedBlockEncoding& shared) {
  const numerics::BlockEncoding& encoding = *shared;
  kernels::GroupFormat format;
  format.bits = encoding.levels.bits;
  format.group = encoding.group;
  format.has_offsets = encoding.has_offsets;
  format.first_level = encoding.levels.first;
  if (encoding.levels.table != nullptr) format.levels = *encoding.levels.table;
  format.scales = scales_of(encoding.scales);
  if (encoding.basis != nullptr) format.basis = {shared, encoding.basis};
  format.factor = encoding.factor;
  return format;
}

/// Unpacks rows of a matrix in blocks.
struct BlockRows {
  const ir::BlockTensor& weights;

  void operator()(std::size_t row, std::span<std::int8_t> codes, std::span<float> scales,
                  std::span<float> offsets) const {
    const numerics::BlockEncoding& encoding = *weights.encoding;
    const std::size_t groups = encoding.block / encoding.group;
    const std::span<const std::byte> bytes = weights.row(row);
    for (std::size_t b = 0; b < codes.size() / encoding.block; ++b) {
      encoding.unpack(encoding, bytes.data() + b * encoding.block_bytes,
                      {codes.data() + b * encoding.block, scales.data() + b * groups,
                       encoding.has_offsets ? offsets.data() + b * groups : nullptr});
    }
  }
};

}  // namespace

kernels::PackedGroups pack_groups(const ir::BlockTensor& weights, int threads) {
  const auto [rows, cols] = ir::matrix_extent(weights.shape);
  kernels::GroupFormat format = format_of(weights.encoding);
  for (;;) {
    kernels::PackedGroups packed(rows, cols, format);
    std::vector<std::uint8_t> is_exact(static_cast<std::size_t>(threads), 1);
    divide(packed.num_strips(), is_exact.size(),
           [&](std::size_t share, kernels::BlockRange strips) {
             is_exact[share] = packed.pack_strips(strips, BlockRows{weights}) ? 1 : 0;
           });
    const bool all = std::ranges::count(is_exact, 0) == 0;
    if (all || format.scales == kernels::GroupScales::kFloat) return packed;
    format.scales = kernels::GroupScales::kFloat;
  }
}

}  // namespace halftone::runtime
