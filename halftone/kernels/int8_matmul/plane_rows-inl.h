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
//       /// Blocks that are looked up together.
//       static constexpr std::size_t kBlocks;
//       /// The sums [32] of some blocks over `pieces` pieces, by the tables from `first` on: calls
//       /// use[b](d, o, v) with a vector of those of block b, outputs from o on, until it had all.
//       /// What is read `ahead` bytes later may be prefetched.
//       template <std::size_t kBlocks, class Use>
//       static void Sum(const Tables& tables, std::size_t first, const std::uint8_t* const* panels,
//                       std::size_t pieces, std::size_t ahead, const Use* use);
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
#include "halftone/kernels/int8_matmul/level_fold-inl.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = PlaneMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
/// Blocks whose sums are gathered at a time.
constexpr std::size_t kMaxBlocks = 256;

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

/// products = start + k s of the first plane of a group and a block, or += k s of another one.
/// Where s has a bias, so has the product.
struct AddPlane {
  const std::uint8_t* HWY_RESTRICT k;  ///< [32]
  bool is_first;
  std::uint32_t start;
  std::uint32_t* HWY_RESTRICT products;  ///< [32]

  template <class D, class V>
  HWY_INLINE void operator()(D d, std::size_t o, V s) const {
    const hn::Rebind<std::uint8_t, D> d8;
    const auto term = hn::Mul(hn::PromoteTo(d, hn::LoadU(d8, k + o)), s);
    const auto before = is_first ? hn::Set(d, start) : hn::LoadU(d, products + o);
    hn::StoreU(hn::Add(before, term), d, products + o);
  }
};

/// Folds the only plane of a group and a block: there all k are the steps, and so
/// P = steps (2 s - Q).
struct FoldPlane {
  std::uint32_t steps;
  std::uint32_t less;  ///< Q and twice the bias of s
  FoldVector fold;

  template <class D, class V>
  HWY_INLINE void operator()(D d, std::size_t o, V s) const {
    const hn::RebindToSigned<D> di;
    const auto odd = hn::Sub(hn::Add(s, s), hn::Set(d, less));
    fold(di, o, hn::BitCast(di, hn::Mul(odd, hn::Set(d, steps))));
  }
};

/// Sum of the inputs of a group.
HWY_INLINE std::int32_t GroupSum(const Weights& weights, std::size_t group,
                                 std::span<const std::int8_t> q) {
  const std::size_t end = weights.group_end(group);
  std::int32_t sum = 0;
  for (std::size_t i = weights.group_begin(group); i < end; ++i) sum += q[i];
  return sum;
}

/// Some blocks of a chunk that are looked up together, and where their sums go.
struct PlaneBlocks {
  std::size_t first;
  std::uint32_t* products;  ///< [blocks, 32] of a group, so far
  float* acc;               ///< [blocks, 32]
};

/// All planes of a group of a chunk.
/// @tparam kBlocks   blocks
/// @param input_sum  of the group, if the chunk ends it
template <class Lookup, std::size_t kBlocks>
HWY_INLINE void ComputeGroup(const Weights& weights, const PlaneChunk& chunk,
                             const typename Lookup::Tables& tables, std::size_t group,
                             std::int32_t input_sum, const PlaneBlocks& blocks) {
  const std::size_t plane_bytes = chunk.pieces * kBlock * Lookup::kFormat.lane_bytes;
  // The same position in the next blocks.
  const std::size_t ahead = kBlocks * weights.block_bytes(chunk);
  const std::uint8_t* panels[kBlocks];
  const std::uint8_t* scales[kBlocks];
  for (std::size_t b = 0; b < kBlocks; ++b) {
    panels[b] = weights.planes(chunk, blocks.first + b) + group * weights.bits() * plane_bytes;
    scales[b] = weights.scales(chunk, blocks.first + b) + group * weights.scale_bytes();
    PrefetchFar(scales[b] + kBlocks * chunk.num_groups * weights.scale_bytes(),
                weights.scale_bytes());
  }
  const auto steps = static_cast<std::uint32_t>(weights.steps());
  const std::uint32_t bias =
      Lookup::kBias * static_cast<std::uint32_t>(Lookup::kTables * weights.group_pieces());
  if (weights.bits() == 1 && chunk.first_piece == 0 && chunk.ends_groups) {
    FoldPlane fold[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const auto* floats = reinterpret_cast<const float*>(scales[b] + kBlock);
      fold[b] = {steps,
                 2 * bias + static_cast<std::uint32_t>(input_sum),
                 {floats, weights.has_offset(), input_sum, blocks.acc + b * kBlock}};
    }
    Lookup::template Sum<kBlocks>(tables, group * chunk.pieces, panels, chunk.pieces, ahead, fold);
    return;
  }
  for (std::size_t j = 0; j < weights.bits(); ++j) {
    AddPlane add[kBlocks];
    for (std::size_t b = 0; b < kBlocks; ++b) {
      add[b] = {scales[b] + j * kBlock, chunk.first_piece == 0 && j == 0, 0 - steps * bias,
                blocks.products + b * kBlock};
    }
    Lookup::template Sum<kBlocks>(tables, group * chunk.pieces, panels, chunk.pieces, ahead, add);
    for (const std::uint8_t*& panel : panels) panel += plane_bytes;
  }
  for (std::size_t b = 0; chunk.ends_groups && b < kBlocks; ++b) {
    FoldGroup(weights, reinterpret_cast<const float*>(scales[b] + weights.bits() * kBlock),
              {reinterpret_cast<const std::int32_t*>(blocks.products + b * kBlock), input_sum, 0},
              blocks.acc + b * kBlock);
  }
}

/// One row of y, for blocks whose sums are gathered together.
template <class Lookup>
void RowOfBlocks(const Weights& weights, std::span<const std::int8_t> q, float scale, float offset,
                 BlockRange blocks, float* y) {
  alignas(64) std::uint32_t products[kMaxBlocks * kBlock];
  alignas(64) float acc[kMaxBlocks * kBlock];
  typename Lookup::Tables tables;
  const std::size_t num_blocks = blocks.end - blocks.begin;
  std::fill_n(acc, num_blocks * kBlock, 0.0F);
  for (const PlaneChunk& chunk : weights.chunks()) {
    MakeTables<Lookup>(weights, chunk, q, tables);
    std::int32_t group_sums[Lookup::kFormat.max_pieces] = {};
    for (std::size_t g = 0; chunk.ends_groups && g < chunk.num_groups; ++g) {
      group_sums[g] = GroupSum(weights, chunk.first_group + g, q);
    }
    const auto compute = [&]<std::size_t kBlocks>(std::size_t b) {
      for (std::size_t g = 0; g < chunk.num_groups; ++g) {
        ComputeGroup<Lookup, kBlocks>(weights, chunk, tables, g, group_sums[g],
                                      {blocks.begin + b, products + b * kBlock, acc + b * kBlock});
      }
    };
    std::size_t b = 0;
    for (; b + Lookup::kBlocks <= num_blocks; b += Lookup::kBlocks) {
      compute.template operator()<Lookup::kBlocks>(b);
    }
    for (; b < num_blocks; ++b) compute.template operator()<1>(b);
  }
  for (std::size_t b = 0; b < num_blocks; ++b) {
    FinishBlock(weights, blocks.begin + b, scale, offset, acc + b * kBlock, y);
  }
}

template <class Lookup>
void PlaneMatmul(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                 MatrixView<float> y) {
  for (std::size_t block = blocks.begin; block < blocks.end; block += kMaxBlocks) {
    const BlockRange some{block, std::min(block + kMaxBlocks, blocks.end)};
    for (std::size_t r = 0; r < y.rows(); ++r) {
      RowOfBlocks<Lookup>(weights, x.q.row(r), x.scales[r], x.offset, some, y.row(r).data());
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
