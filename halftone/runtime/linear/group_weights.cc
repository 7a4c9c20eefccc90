// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/group_weights.h"

#include <algorithm>
#include <vector>

#include "halftone/runtime/shares.h"

namespace halftone::runtime {
namespace {

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

/// What kernels store: codes of all levels where they have no others.
numerics::GroupCodes kernel_codes(const numerics::BlockEncoding& encoding) {
  numerics::GroupCodes codes = encoding;
  codes.numbers = {};
  return codes;
}

}  // namespace

kernels::PackedGroups pack_groups(const ir::BlockTensor& weights, int threads) {
  const auto [rows, cols] = ir::matrix_extent(weights.shape);
  numerics::GroupCodes codes = kernel_codes(*weights.encoding);
  for (;;) {
    kernels::PackedGroups packed(rows, cols, codes);
    std::vector<std::uint8_t> is_exact(static_cast<std::size_t>(threads), 1);
    divide(packed.num_strips(), is_exact.size(),
           [&](std::size_t share, kernels::BlockRange strips) {
             is_exact[share] = packed.pack_strips(strips, BlockRows{weights}) ? 1 : 0;
           });
    const bool all = std::ranges::count(is_exact, 0) == 0;
    if (all || codes.scales == numerics::GroupScales::kFloat) return packed;
    codes.scales = numerics::GroupScales::kFloat;
  }
}

}  // namespace halftone::runtime
