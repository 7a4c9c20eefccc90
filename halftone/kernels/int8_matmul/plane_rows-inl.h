// SPDX-License-Identifier: Apache-2.0
// What the layouts of plane_matmul() share: the walk over the weights, and the way from sums to
// outputs. A layout is a class
//
//     struct Lookup {
//       static constexpr const PlaneFormat& kFormat;
//       /// Tables of a piece, and what was added to each of their entries.
//       static constexpr std::size_t kTables;
//       static constexpr std::uint32_t kBias;
//       struct Tables;  // of kFormat.most_pieces pieces
//       /// Makes the tables of piece p from its inputs.
//       static void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables);
//       /// The sums [32] of a block over `pieces` pieces, by the tables from `first` on;
//       /// `add`: on top of what the sums are.
//       static void Sum(const Tables& tables, std::size_t first, const std::uint8_t* panel,
//                       std::size_t pieces, bool add, std::uint32_t* sums);
//     };
//
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_PLANE_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_PLANE_ROWS_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_PLANE_ROWS_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_PLANE_ROWS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/int8_matmul/finish-inl.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = PlaneMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
/// Sums of blocks gathered at a time: at least Kw of 32 outputs.
constexpr std::size_t kMostSums = std::size_t{1} << 14;

/// Tables of all groups of a chunk; inputs past the end of a group or row count as zero.
template <class Lookup>
void MakeTables(const Weights& weights, const PlaneChunk& chunk, std::span<const std::int8_t> q,
                typename Lookup::Tables& tables) {
  constexpr std::size_t kInputs = Lookup::kFormat.piece_inputs;
  std::size_t table = 0;
  for (std::size_t g = chunk.first_group; g < chunk.first_group + chunk.num_groups; ++g) {
    const std::size_t end = weights.group_end(g);
    std::size_t first = weights.group_begin(g) + chunk.first_piece * kInputs;
    for (std::size_t p = 0; p < chunk.pieces; ++p, ++table, first += kInputs) {
      std::int8_t rest[kInputs] = {};
      const std::int8_t* from = q.data() + first;
      if (first + kInputs > end) {
        if (first < end) std::memcpy(rest, from, end - first);
        from = rest;
      }
      Lookup::MakePiece(from, table, tables);
    }
  }
}

using DFloat = hn::CappedTag<float, kBlock>;

/// acc += a_j P_j for every plane, then c Q, of a group and block.
/// @param floats  [float_rows(), 32] of them
/// @param sums    [Kw, 32] of biased table entries
HWY_INLINE void FoldGroup(const Weights& weights, const float* HWY_RESTRICT floats,
                          std::int32_t input_sum, std::uint32_t bias,
                          const std::uint32_t* HWY_RESTRICT sums, float* HWY_RESTRICT acc) {
  const DFloat d;
  const hn::RebindToUnsigned<DFloat> du;
  const hn::RebindToSigned<DFloat> di;
  // b = +-1 is twice the bit less one.
  const auto less = hn::Set(du, 2 * bias + static_cast<std::uint32_t>(input_sum));
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    auto total = hn::LoadU(d, acc + lane);
    for (std::size_t j = 0; j < weights.bits(); ++j) {
      const auto sum = hn::LoadU(du, sums + j * kBlock + lane);
      const auto p = hn::BitCast(di, hn::Sub(hn::Add(sum, sum), less));
      total =
          hn::Add(total, hn::Mul(hn::LoadU(d, floats + j * kBlock + lane), hn::ConvertTo(d, p)));
    }
    if (weights.has_offset()) {
      const auto c = hn::LoadU(d, floats + weights.bits() * kBlock + lane);
      total = hn::Add(total, hn::Mul(c, hn::Set(d, static_cast<float>(input_sum))));
    }
    hn::StoreU(total, d, acc + lane);
  }
}

/// Sum of the inputs of a group.
HWY_INLINE std::int32_t GroupSum(const Weights& weights, std::size_t group,
                                 std::span<const std::int8_t> q) {
  const std::size_t end = weights.group_end(group);
  std::int32_t sum = 0;
  for (std::size_t i = weights.group_begin(group); i < end; ++i) sum += q[i];
  return sum;
}

/// One row of y, for blocks whose sums are gathered together.
template <class Lookup>
void RowOfBlocks(const Weights& weights, std::span<const std::int8_t> q, float scale, float offset,
                 BlockRange blocks, float* y) {
  alignas(64) std::uint32_t sums[kMostSums];
  alignas(64) float acc[kMostSums];
  typename Lookup::Tables tables;
  const std::size_t num_blocks = blocks.end - blocks.begin;
  std::fill_n(acc, num_blocks * kBlock, 0.0F);
  for (const PlaneChunk& chunk : weights.chunks()) {
    MakeTables<Lookup>(weights, chunk, q, tables);
    std::int32_t group_sums[Lookup::kFormat.most_pieces];
    if (chunk.ends_groups) {
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        group_sums[g] = GroupSum(weights, chunk.first_group + g, q);
      }
    }
    const std::size_t group_pieces = chunk.first_piece + chunk.pieces;  // so far
    const auto bias = static_cast<std::uint32_t>(group_pieces * Lookup::kTables) * Lookup::kBias;
    for (std::size_t b = 0; b < num_blocks; ++b) {
      const std::uint8_t* panel = weights.planes(chunk, blocks.begin + b);
      const float* floats = weights.floats(chunk, blocks.begin + b);
      std::uint32_t* block_sums = sums + b * weights.bits() * kBlock;
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        for (std::size_t j = 0; j < weights.bits(); ++j) {
          Lookup::Sum(tables, g * chunk.pieces, panel, chunk.pieces, chunk.first_piece != 0,
                      block_sums + j * kBlock);
          panel += chunk.pieces * kBlock * Lookup::kFormat.lane_bytes;
        }
        if (!chunk.ends_groups) continue;
        FoldGroup(weights, floats + g * weights.float_rows() * kBlock, group_sums[g], bias,
                  block_sums, acc + b * kBlock);
      }
    }
  }
  for (std::size_t b = 0; b < num_blocks; ++b) {
    FinishBlock(weights, blocks.begin + b, scale, offset, acc + b * kBlock, y);
  }
}

template <class Lookup>
void PlaneMatmul(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                 MatrixView<float> y) {
  const std::size_t step = kMostSums / kBlock / weights.bits();
  for (std::size_t block = blocks.begin; block < blocks.end; block += step) {
    const BlockRange some{block, std::min(block + step, blocks.end)};
    for (std::size_t r = 0; r < y.rows(); ++r) {
      RowOfBlocks<Lookup>(weights, x.q.row(r), x.scales[r], x.offset, some, y.row(r).data());
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
