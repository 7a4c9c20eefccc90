// SPDX-License-Identifier: Apache-2.0
// The loops over rows, blocks and groups of level_matmul() where each row reads the weights in
// their order; the layouts differ in how they sum up the outputs of a group. Included once per
// target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_LEVEL_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_ROWS_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_ROWS_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_LEVEL_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/int8_matmul/finish-inl.h"
#include "halftone/kernels/int8_matmul/fold_group-inl.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Activations of a group: whole pieces, and a zero-padded last piece, if not null.
struct PieceInputs {
  const std::int8_t* whole;
  std::size_t whole_pieces;
  const std::int8_t* rest;
};

/// Codes of some strips of a block, in a group.
struct StripCodes {
  const std::uint8_t* first;   ///< [pieces, outputs of a strip, bytes] of the first strip
  std::size_t strip_bytes;     ///< from a strip to the next
  std::size_t ahead;           ///< prefetch distance in bytes
  const std::uint8_t* tables;  ///< [outputs, 16]
};

/// sums[o] = sum of (u - offset) q of a group, for the outputs that are summed up together.
using SumStrips = void (*)(const StripCodes& codes, const PieceInputs& x, std::int32_t* sums);

/// How a layout arranges and sums up codes.
/// @tparam kPieceInputs      of a piece
/// @tparam kStripOutputs     whose pieces follow each other
/// @tparam kTogetherOutputs  that are summed up together: whole strips
/// @tparam kLevelsLess       subtracted from the levels
template <std::size_t kPieceInputs, std::size_t kStripOutputs, std::size_t kTogetherOutputs,
          std::int32_t kLevelsLess = 0>
struct Strips {
  static constexpr std::size_t kPiece = kPieceInputs;
  static constexpr std::size_t kStrip = kStripOutputs;
  static constexpr std::size_t kTogether = kTogetherOutputs;
  static constexpr std::int32_t kOffset = kLevelsLess;
};

#if HWY_TARGET != HWY_SCALAR

/// Adds up neighbouring lanes of four vectors, four at a time.
/// @return blocks of 128 bits, lane v of each the sum of that block of vector v
HWY_INLINE VInts AddFours(VInts v0, VInts v1, VInts v2, VInts v3) {
  const DInts d;
  const hn::Repartition<std::int64_t, DInts> d64;
  const auto add_halves = [&](VInts a, VInts b) {
    return hn::BitCast(d64, hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b)));
  };
  const auto lower = add_halves(v0, v1);
  const auto upper = add_halves(v2, v3);
  return hn::Add(hn::BitCast(d, hn::InterleaveLower(d64, lower, upper)),
                 hn::BitCast(d, hn::InterleaveUpper(d64, lower, upper)));
}

#endif

/// Where the groups of a block are, the same for every group.
struct GroupLayout {
  std::size_t strip_bytes;
  std::size_t ahead;         ///< prefetch distance of the codes in bytes
  std::size_t tables;        ///< from the codes of a group to its tables
  std::size_t floats;        ///< and to its floats
  std::size_t tables_ahead;  ///< prefetch distance of the tables in bytes
  std::size_t bytes;         ///< from a group to the next
};

/// @tparam Layout  a Strips<>
template <typename Layout>
GroupLayout FindGroupLayout(const LevelMatmulWeights& weights) {
  constexpr std::size_t kMinAhead = 8192;
  constexpr std::size_t kNext = 6144;
  const std::size_t bytes = weights.group_bytes();
  const std::uint8_t* codes = weights.pieces(0, 0);
  const auto tables = static_cast<std::size_t>(weights.tables(0, 0) - codes);
  const auto floats =
      static_cast<std::size_t>(reinterpret_cast<const std::uint8_t*>(weights.floats(0, 0)) - codes);
  const std::size_t strip_bytes = tables / (LevelMatmulWeights::kBlock / Layout::kStrip);
  // A little further than the strips that are read together, or the same position in a later group.
  const std::size_t groups = (kMinAhead + bytes - 1) / bytes;
  const std::size_t strips = strip_bytes * (Layout::kTogether / Layout::kStrip - 1) + kNext;
  return {strip_bytes, groups == 1 ? strips : groups * bytes, tables, floats, groups * bytes,
          bytes};
}

/// Adds the products of a group to acc [32] of a block.
/// @tparam Layout  a Strips<>
template <typename Layout>
HWY_INLINE void ComputeGroup(const LevelMatmulWeights& weights, const std::uint8_t* codes,
                             const GroupLayout& layout, SumStrips sum_strips, const PieceInputs& x,
                             std::int32_t input_sum, float* HWY_RESTRICT acc) {
  constexpr std::size_t kBlock = LevelMatmulWeights::kBlock;
  constexpr std::size_t kTable = LevelMatmulWeights::kTableBytes;
  alignas(64) std::int32_t sums[kBlock];
  PrefetchFar(codes + layout.tables + layout.tables_ahead, layout.bytes - layout.tables);
  for (std::size_t o = 0; o < kBlock; o += Layout::kTogether) {
    sum_strips({codes + o / Layout::kStrip * layout.strip_bytes, layout.strip_bytes, layout.ahead,
                codes + layout.tables + o * kTable},
               x, sums + o);
  }
  if (weights.factor() != 1) {
    for (std::int32_t& sum : sums) sum *= weights.factor();
  }
  FoldLevels(weights, reinterpret_cast<const float*>(codes + layout.floats),
             {sums, input_sum, Layout::kOffset}, acc);
}

/// The activations of a group.
/// @param padded  [kPiece]: where its last piece goes if it is not whole
template <std::size_t kPiece>
HWY_INLINE PieceInputs GroupInputs(std::span<const std::int8_t> group, std::int8_t* padded) {
  const std::size_t whole = group.size() / kPiece;
  const auto rest = group.subspan(whole * kPiece);
  if (rest.empty()) return {group.data(), whole, nullptr};
  std::fill_n(padded, kPiece, std::int8_t{0});
  std::memcpy(padded, rest.data(), rest.size());
  return {group.data(), whole, padded};
}

/// Blocks whose sums are kept while groups are added.
constexpr std::size_t kMaxBlocks = 64;

/// Outputs of at most kMaxBlocks blocks, for one row.
template <typename Layout>
void RowOfBlocks(const Int8Rows& x, std::size_t r, const LevelMatmulWeights& weights,
                 BlockRange blocks, SumStrips sum_strips, float* y) {
  constexpr std::size_t kMaxGroups = 256;  // whose inputs are summed up once for all blocks
  alignas(64) float acc[kMaxBlocks][LevelMatmulWeights::kBlock] = {};
  const std::span<const std::int8_t> q = x.q.row(r);
  const auto layout = FindGroupLayout<Layout>(weights);
  const auto group = [&](std::size_t g) {
    return q.subspan(weights.group_begin(g), weights.group_end(g) - weights.group_begin(g));
  };
  for (std::size_t first = 0; first < weights.num_groups(); first += kMaxGroups) {
    const std::size_t last = std::min(first + kMaxGroups, weights.num_groups());
    std::int32_t sums[kMaxGroups];
    for (std::size_t g = first; g < last; ++g) {
      std::int32_t sum = 0;
      for (const std::int8_t v : group(g)) sum += v;
      sums[g - first] = sum;
    }
    for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
      const std::uint8_t* codes = weights.pieces(block, first);
      for (std::size_t g = first; g < last; ++g, codes += layout.bytes) {
        std::int8_t padded[Layout::kPiece];
        ComputeGroup<Layout>(weights, codes, layout, sum_strips,
                             GroupInputs<Layout::kPiece>(group(g), padded), sums[g - first],
                             acc[block - blocks.begin]);
      }
    }
  }
  for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
    FinishBlock(weights, block, x.scales[r], x.offset, acc[block - blocks.begin], y);
  }
}

/// level_matmul() for a layout with codes.
template <typename Layout>
void MultiplyByCodes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                     SumStrips sum_strips, MatrixView<float> y) {
  for (std::size_t block = blocks.begin; block < blocks.end; block += kMaxBlocks) {
    const BlockRange some{block, std::min(block + kMaxBlocks, blocks.end)};
    for (std::size_t r = 0; r < y.rows(); ++r) {
      RowOfBlocks<Layout>(x, r, weights, some, sum_strips, y.row(r).data());
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
