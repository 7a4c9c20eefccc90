// SPDX-License-Identifier: Apache-2.0
// Shared by the layouts of plane_matmul(): the loops over the weights, and the conversion of sums
// to outputs. A layout is a class
//
//     struct Lookup {
//       static constexpr const PlaneFormat& kFormat;
//       /// Tables of a piece, and what was added to each of their entries.
//       static constexpr std::size_t kTables;
//       static constexpr std::uint32_t kBias;
//       struct Tables;  // of kFormat.max_pieces pieces
//       /// Makes the tables of piece p from its inputs.
//       static void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables);
//       /// The sums [32] of a block over `pieces` pieces, by the tables from `first` on: calls
//       /// use(d, o, v) with a vector of those of the outputs from o on, until it had all.
//       static void Sum(const Tables& tables, std::size_t first, const std::uint8_t* panel,
//                       std::size_t pieces, const Use& use);
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
constexpr std::size_t kMaxSums = std::size_t{1} << 14;

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

/// sums = or += v.
struct KeepSums {
  bool add;
  std::uint32_t* HWY_RESTRICT sums;  ///< [32]

  template <class D, class V>
  HWY_INLINE void operator()(D d, std::size_t o, V v) const {
    hn::StoreU(add ? hn::Add(v, hn::LoadU(d, sums + o)) : v, d, sums + o);
  }
};

/// acc += a P of a plane, a group and a block.
struct FoldSums {
  std::uint32_t less;           ///< P = 2 sum - less: b = +-1 is twice the bit less one
  const float* HWY_RESTRICT a;  ///< [32]
  float* HWY_RESTRICT acc;      ///< [32]

  template <class D, class V>
  HWY_INLINE void operator()(D du, std::size_t o, V sum) const {
    const hn::RebindToFloat<D> d;
    const hn::RebindToSigned<D> di;
    const auto p = hn::BitCast(di, hn::Sub(hn::Add(sum, sum), hn::Set(du, less)));
    const auto term = hn::Mul(hn::LoadU(d, a + o), hn::ConvertTo(d, p));
    hn::StoreU(hn::Add(hn::LoadU(d, acc + o), term), d, acc + o);
  }
};

/// acc += c Q of a group and a block.
HWY_INLINE void FoldOffset(const float* HWY_RESTRICT c, std::int32_t input_sum,
                           float* HWY_RESTRICT acc) {
  const hn::CappedTag<float, kBlock> d;
  const auto q = hn::Set(d, static_cast<float>(input_sum));
  for (std::size_t o = 0; o < kBlock; o += hn::Lanes(d)) {
    hn::StoreU(hn::Add(hn::LoadU(d, acc + o), hn::Mul(hn::LoadU(d, c + o), q)), d, acc + o);
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

/// All planes of a group of a chunk, for one block.
/// @param panel      where the planes of the group and block begin
/// @param floats     [float_rows(), 32]
/// @param input_sum  of the group, if the chunk ends it
/// @param sums       [Kw, 32] of a group that is more than a chunk
template <class Lookup>
HWY_INLINE void ComputeGroup(const Weights& weights, const PlaneChunk& chunk,
                             const typename Lookup::Tables& tables, std::size_t group,
                             const std::uint8_t* panel, const float* floats, std::int32_t input_sum,
                             std::uint32_t* sums, float* acc) {
  const std::size_t group_pieces = chunk.first_piece + chunk.pieces;  // so far
  const auto bias = static_cast<std::uint32_t>(group_pieces * Lookup::kTables) * Lookup::kBias;
  const std::uint32_t less = 2 * bias + static_cast<std::uint32_t>(input_sum);
  const bool whole = chunk.ends_groups && chunk.first_piece == 0;
  for (std::size_t j = 0; j < weights.bits(); ++j) {
    const std::size_t first = group * chunk.pieces;
    const FoldSums fold{less, floats + j * kBlock, acc};
    if (whole) {
      Lookup::Sum(tables, first, panel, chunk.pieces, fold);
    } else {
      std::uint32_t* plane_sums = sums + j * kBlock;
      Lookup::Sum(tables, first, panel, chunk.pieces, KeepSums{chunk.first_piece != 0, plane_sums});
      const hn::CappedTag<std::uint32_t, kBlock> du;
      for (std::size_t o = 0; chunk.ends_groups && o < kBlock; o += hn::Lanes(du)) {
        fold(du, o, hn::LoadU(du, plane_sums + o));
      }
    }
    panel += chunk.pieces * kBlock * Lookup::kFormat.lane_bytes;
  }
  if (chunk.ends_groups && weights.has_offset()) {
    FoldOffset(floats + weights.bits() * kBlock, input_sum, acc);
  }
}

/// One row of y, for blocks whose sums are gathered together.
template <class Lookup>
void RowOfBlocks(const Weights& weights, std::span<const std::int8_t> q, float scale, float offset,
                 BlockRange blocks, float* y) {
  alignas(64) std::uint32_t sums[kMaxSums];
  alignas(64) float acc[kMaxSums];
  typename Lookup::Tables tables;
  const std::size_t num_blocks = blocks.end - blocks.begin;
  std::fill_n(acc, num_blocks * kBlock, 0.0F);
  for (const PlaneChunk& chunk : weights.chunks()) {
    MakeTables<Lookup>(weights, chunk, q, tables);
    std::int32_t group_sums[Lookup::kFormat.max_pieces] = {};
    for (std::size_t g = 0; chunk.ends_groups && g < chunk.num_groups; ++g) {
      group_sums[g] = GroupSum(weights, chunk.first_group + g, q);
    }
    const std::size_t group_bytes =
        weights.bits() * chunk.pieces * kBlock * Lookup::kFormat.lane_bytes;
    for (std::size_t b = 0; b < num_blocks; ++b) {
      const std::uint8_t* panel = weights.planes(chunk, blocks.begin + b);
      const float* floats = weights.floats(chunk, blocks.begin + b);
      std::uint32_t* block_sums = sums + b * weights.bits() * kBlock;
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        ComputeGroup<Lookup>(weights, chunk, tables, g, panel + g * group_bytes,
                             floats + g * weights.float_rows() * kBlock, group_sums[g], block_sums,
                             acc + b * kBlock);
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
  const std::size_t step = kMaxSums / kBlock / weights.bits();
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
