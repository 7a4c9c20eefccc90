// SPDX-License-Identifier: Apache-2.0
// Shared by the layouts of plane_matmul(): the loops over the weights, and the conversion of sums
// to outputs. A layout is a class
//
//     struct Lookup {
//       static constexpr const PlaneFormat& kFormat;
//       /// What each piece adds to the sums.
//       static constexpr std::uint32_t kBias;
//       struct Tables;  // of kFormat.max_pieces pieces
//       /// Makes the tables of piece p from its inputs.
//       static void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables);
//       /// Blocks that are looked up together.
//       static constexpr std::size_t kBlocks;
//       using D = ...;  // of products, 32 bits
//       /// products[b] += sum_j k_j (s_j + bias) over the planes of a group and blocks.
//       template <std::size_t kBlocks>
//       static void Sum(const Tables& tables, const GroupPlanes<kBlocks>& planes,
//                       Products<D>* products);
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
#include "halftone/kernels/int8_matmul/fold_group-inl.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = PlaneMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
/// Blocks whose sums are gathered at a time.
constexpr std::size_t kMaxBlocks = 256;

/// Vectors of a block.
template <class D>
constexpr std::size_t kVectors = kBlock / hn::MaxLanes(D());
/// sum_j k_j s_j of the outputs of a block.
template <class D>
using Products = hn::Vec<D>[kVectors<D>];

/// The planes of some pieces of a group, of blocks that are looked up together.
template <std::size_t kBlocks>
struct GroupPlanes {
  const std::uint8_t* panels[kBlocks];        ///< [planes, pieces, 32] of each block
  const std::uint8_t* coefficients[kBlocks];  ///< PlaneMatmulWeights::coefficients()
  std::size_t num_planes;
  std::size_t plane_bytes;  ///< from a plane to the next
  std::size_t first_piece;  ///< among the tables
  std::size_t pieces;
  std::size_t ahead;  ///< prefetch distance in bytes

  /// Goes to the next group of the chunk.
  /// @param scale_bytes  from the coefficients of a group to those of the next
  HWY_INLINE void Advance(std::size_t scale_bytes) {
    first_piece += pieces;
    for (std::size_t b = 0; b < kBlocks; ++b) {
      panels[b] += num_planes * plane_bytes;
      coefficients[b] += scale_bytes;
    }
  }
};

/// The planes of the first group of a chunk.
template <class Lookup, std::size_t kBlocks>
HWY_INLINE GroupPlanes<kBlocks> FirstGroup(const Weights& weights, const PlaneChunk& chunk,
                                           std::size_t first_block) {
  GroupPlanes<kBlocks> planes;
  planes.num_planes = weights.bits();
  planes.plane_bytes = chunk.pieces * kBlock * Lookup::kFormat.lane_bytes;
  planes.first_piece = 0;
  planes.pieces = chunk.pieces;
  // The same position in the next blocks.
  planes.ahead = kBlocks * weights.block_bytes(chunk);
  for (std::size_t b = 0; b < kBlocks; ++b) {
    planes.panels[b] = weights.planes(chunk, first_block + b);
    planes.coefficients[b] = weights.coefficients(weights.scales(chunk, first_block + b));
  }
  return planes;
}

/// The floats of a group of blocks that are looked up together.
template <std::size_t kBlocks>
struct GroupScales {
  const float* floats[kBlocks];  ///< PlaneMatmulWeights::floats()
  std::size_t bytes;             ///< from a group to the next
  std::size_t ahead;             ///< prefetch distance in bytes

  /// Goes to the next group of the chunk.
  HWY_INLINE void Advance() {
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const auto* next = reinterpret_cast<const std::uint8_t*>(floats[b]) + bytes;
      floats[b] = reinterpret_cast<const float*>(next);
      PrefetchFar(next + ahead, bytes);
    }
  }
};

template <std::size_t kBlocks>
HWY_INLINE GroupScales<kBlocks> FirstScales(const Weights& weights, const PlaneChunk& chunk,
                                            std::size_t first_block) {
  GroupScales<kBlocks> scales;
  scales.bytes = weights.scale_bytes();
  // The same position in the next blocks.
  scales.ahead = (kBlocks * chunk.num_groups - 1) * scales.bytes;
  for (std::size_t b = 0; b < kBlocks; ++b) {
    scales.floats[b] = weights.floats(weights.scales(chunk, first_block + b));
  }
  return scales;
}

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
  std::uint32_t* products;  ///< [blocks, 32] of a group that goes on in other chunks, so far
  float* acc;               ///< [blocks, 32]
};

/// Adds the groups of a chunk to some blocks: all that depends on the chunk is computed once.
/// @tparam kWhole      whether the groups begin and end here
/// @param group_sums   of the inputs of each group, if the chunk ends them
template <class Lookup, std::size_t kBlocks, bool kWhole>
HWY_INLINE void ComputeGroups(const Weights& weights, const PlaneChunk& chunk,
                              const typename Lookup::Tables& tables, const std::int32_t* group_sums,
                              const PlaneBlocks& blocks) {
  using D = typename Lookup::D;
  const D d;
  constexpr std::size_t kLanes = hn::MaxLanes(D());
  constexpr std::size_t kAll = kBlocks * kVectors<D>;
  const auto steps = static_cast<std::uint32_t>(weights.steps());
  const auto start =
      hn::Set(d, 0 - steps * Lookup::kBias * static_cast<std::uint32_t>(chunk.pieces));
  const bool begins = kWhole || chunk.first_piece == 0;
  const bool ends = kWhole || chunk.ends_groups;
  const bool has_offset = weights.has_offset();
  GroupPlanes<kBlocks> planes = FirstGroup<Lookup, kBlocks>(weights, chunk, blocks.first);
  GroupScales<kBlocks> scales = FirstScales<kBlocks>(weights, chunk, blocks.first);
  const std::size_t coefficient_bytes = weights.bits() == 1 ? 0 : weights.scale_bytes();
  for (std::size_t g = 0; g < chunk.num_groups; ++g) {
    Products<D> products[kBlocks];
    for (std::size_t i = 0; i < kAll; ++i) products[i / kVectors<D>][i % kVectors<D>] = start;
    for (std::size_t i = 0; !begins && i < kAll; ++i) {
      auto& sum = products[i / kVectors<D>][i % kVectors<D>];
      sum = hn::Add(sum, hn::LoadU(d, blocks.products + i * kLanes));
    }
    Lookup::template Sum<kBlocks>(tables, planes, products);
    if (ends) {
      const std::int32_t input_sum = group_sums[g];
      const std::uint32_t less = steps * static_cast<std::uint32_t>(input_sum);
      for (std::size_t b = 0; b < kBlocks; ++b) {
        const FoldGroup fold{scales.floats[b], has_offset, input_sum, less,
                             blocks.acc + b * kBlock};
        for (std::size_t v = 0; v < kVectors<D>; ++v) fold(v * kLanes, products[b][v]);
      }
    } else {
      for (std::size_t i = 0; i < kAll; ++i) {
        hn::StoreU(products[i / kVectors<D>][i % kVectors<D>], d, blocks.products + i * kLanes);
      }
    }
    planes.Advance(coefficient_bytes);
    scales.Advance();
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
    const bool is_whole = chunk.first_piece == 0 && chunk.ends_groups;
    const auto compute = [&]<std::size_t kBlocks>(std::size_t b) {
      const PlaneBlocks some{blocks.begin + b, products + b * kBlock, acc + b * kBlock};
      if (is_whole) {
        ComputeGroups<Lookup, kBlocks, true>(weights, chunk, tables, group_sums, some);
      } else {
        ComputeGroups<Lookup, kBlocks, false>(weights, chunk, tables, group_sums, some);
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
