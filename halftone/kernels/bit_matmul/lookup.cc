// SPDX-License-Identifier: Apache-2.0
// bit_matmul() for BitLayout::kLookup: 8 inputs of 32 outputs take two look-ups of 4 bits each, in
// tables of the number of bits that differ from those of the activations.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/bit_matmul/lookup.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/bit_matmul/epilogue-inl.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/keep-inl.h"

#ifndef HALFTONE_KERNELS_BIT_MATMUL_LOOKUP_ONCE_
#define HALFTONE_KERNELS_BIT_MATMUL_LOOKUP_ONCE_
namespace halftone::kernels {

/// [a][b]: the number of bits in which two numbers of four bits differ.
struct DifferenceTables {
  alignas(16) std::uint8_t tables[16][16];
};
constexpr DifferenceTables make_difference_tables() {
  DifferenceTables t{};
  for (unsigned a = 0; a < 16; ++a) {
    for (unsigned b = 0; b < 16; ++b) {
      t.tables[a][b] = static_cast<std::uint8_t>(std::popcount(a ^ b));
    }
  }
  return t;
}
inline constexpr DifferenceTables kDifferences = make_difference_tables();

}  // namespace halftone::kernels
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Outputs of a block.
constexpr std::size_t kLookupOutputs = 32;
/// Activation rows whose counts are gathered together.
constexpr std::size_t kLookupRows = 4;
/// Activation planes that share a load of the weights and whose tables are built together.
constexpr std::size_t kPlanes = 4;
/// Pieces of 8 inputs whose counts fit a byte, in whole steps.
constexpr std::size_t kRun = 255 / 8 / kLookupStep * kLookupStep;
/// Pieces that share tables in the first-level cache.
constexpr std::size_t kChunk = 4 * kRun;
/// Blocks of outputs that share these tables and stay in the second-level cache for all rows.
constexpr std::size_t kMaxBlocks = 16;
/// Counts gathered at a time: at least [rows, Kx, Kw, 32].
constexpr std::size_t kMaxCounts = std::size_t{1} << 14;
static_assert(kMaxCounts >= kLookupRows * numerics::kMaxBits * numerics::kMaxBits * kLookupOutputs);

/// Two tables for each piece of a plane: of the lower and of the upper four inputs.
struct PlaneTables {
  alignas(16) std::uint8_t pieces[kChunk][2][16];
};

/// @param plane   [count] pieces of 8 inputs
void MakeTables(const std::uint8_t* HWY_RESTRICT plane, std::size_t count,
                PlaneTables& HWY_RESTRICT tables) {
  for (std::size_t p = 0; p < count; ++p) {
    std::memcpy(tables.pieces[p][0], kDifferences.tables[plane[p] & 15], 16);
    std::memcpy(tables.pieces[p][1], kDifferences.tables[plane[p] >> 4], 16);
  }
}

#if HWY_TARGET == HWY_SCALAR

template <std::size_t kCount>
HWY_INLINE void AddDifferences(const PlaneTables* HWY_RESTRICT tables,
                               const std::uint8_t* HWY_RESTRICT panel, std::size_t pieces,
                               std::int32_t* HWY_RESTRICT counts) {
  for (std::size_t s = 0; s < kCount; ++s) {
    for (std::size_t p = 0; p < pieces; ++p) {
      for (std::size_t lane = 0; lane < kLookupOutputs; ++lane) {
        const std::uint8_t bits = panel[p * kLookupOutputs + lane];
        counts[s * kLookupOutputs + lane / 2 + lane % 2 * 16] +=
            tables[s].pieces[p][0][bits & 15] + tables[s].pieces[p][1][bits >> 4];
      }
    }
  }
}

#else

using DBytes = hn::CappedTag<std::uint8_t, kLookupOutputs>;
using DShorts = hn::RepartitionToWide<DBytes>;
using VBytes = hn::Vec<DBytes>;
using VShorts = hn::Vec<DShorts>;

/// counts[i] += lane i.
HWY_INLINE void AddTo(VShorts sums, std::int32_t* HWY_RESTRICT counts) {
  const hn::Half<DShorts> half;
  const hn::Rebind<std::int32_t, decltype(half)> d32;
  constexpr std::size_t kHalf = hn::MaxLanes(half);
  const auto lower = hn::PromoteTo(d32, hn::LowerHalf(half, sums));
  const auto upper = hn::PromoteTo(d32, hn::UpperHalf(half, sums));
  hn::StoreU(hn::Add(hn::LoadU(d32, counts), lower), d32, counts);
  hn::StoreU(hn::Add(hn::LoadU(d32, counts + kHalf), upper), d32, counts + kHalf);
}

/// Adds to sums[s] the look-ups of one piece in the tables of stream s.
/// @param bits    a vector of pieces
/// @param tables  of the piece, of stream 0
template <std::size_t kCount>
HWY_INLINE void LookUp(const std::uint8_t* HWY_RESTRICT bits,
                       const std::uint8_t* HWY_RESTRICT tables, VBytes* HWY_RESTRICT sums) {
  const DBytes d;
  const DShorts d16;
  const VBytes low_bits = hn::Set(d, std::uint8_t{15});
  const VBytes piece = Keep(hn::Load(d, bits));
  const VBytes lower = hn::And(piece, low_bits);
  const VBytes upper =
      hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(d16, piece))), low_bits);
  for (std::size_t s = 0; s < kCount; ++s) {
    const std::uint8_t* table = tables + s * sizeof(PlaneTables);
    sums[s] = hn::Add(sums[s], hn::TableLookupBytes(hn::LoadDup128(d, table), lower));
    sums[s] = Keep(hn::Add(sums[s], hn::TableLookupBytes(hn::LoadDup128(d, table + 16), upper)));
  }
}

/// Adds to the counts the number of bits in which kCount activation planes differ from the 32
/// outputs of a panel. Per piece and plane: two loads, two look-ups, two additions; bytes are
/// widened to 16 bits once in kRun pieces.
/// @param tables  [kCount]
/// @param panel   [pieces, 32]; pieces <= kChunk, in whole steps
/// @param counts  [kCount, 32]
template <std::size_t kCount>
HWY_INLINE void AddDifferences(const PlaneTables* HWY_RESTRICT tables,
                               const std::uint8_t* HWY_RESTRICT panel, std::size_t pieces,
                               std::int32_t* HWY_RESTRICT counts) {
  const DBytes d;
  const DShorts d16;
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  const VShorts low_byte = hn::Set(d16, std::uint16_t{255});
  for (std::size_t lane = 0; lane < kLookupOutputs; lane += kLanes) {
    VShorts even[kCount];
    VShorts odd[kCount];
    for (std::size_t s = 0; s < kCount; ++s) even[s] = odd[s] = hn::Zero(d16);
    for (std::size_t begin = 0; begin < pieces; begin += kRun) {
      const std::size_t end = std::min(begin + kRun, pieces);
      VBytes sums[kCount];
      for (VBytes& sum : sums) sum = hn::Zero(d);
      const std::uint8_t* HWY_RESTRICT t = tables[0].pieces[begin][0];
      const std::uint8_t* HWY_RESTRICT w = panel + begin * kLookupOutputs + lane;
      const std::uint8_t* const w_end = panel + end * kLookupOutputs + lane;
      for (; w != w_end; w += kLookupStep * kLookupOutputs, t += kLookupStep * 32) {
        LookUp<kCount>(w, t, sums);
        LookUp<kCount>(w + kLookupOutputs, t + 32, sums);
        LookUp<kCount>(w + 2 * kLookupOutputs, t + 64, sums);
        LookUp<kCount>(w + 3 * kLookupOutputs, t + 96, sums);
      }
      for (std::size_t s = 0; s < kCount; ++s) {
        const VShorts pairs = hn::BitCast(d16, sums[s]);
        even[s] = hn::Add(even[s], hn::And(pairs, low_byte));
        odd[s] = hn::Add(odd[s], hn::ShiftRight<8>(pairs));
      }
    }
    for (std::size_t s = 0; s < kCount; ++s) {
      std::int32_t* to = counts + s * kLookupOutputs + lane / 2;
      AddTo(even[s], to);
      AddTo(odd[s], to + kLookupOutputs / 2);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

/// Counts that are computed together: the planes of some activation rows against some blocks.
struct Pass {
  std::size_t first_row;
  std::size_t rows;     ///< <= kLookupRows
  std::size_t streams;  ///< rows Kx: their planes
  BlockRange blocks;
};

/// The counts of `count` planes from `stream` on, over pieces [first, first + pieces).
/// @param counts  [blocks, Kw, streams, 32]
void CountChunk(const Job& job, const Pass& pass, std::size_t stream, std::size_t count,
                std::size_t first, std::size_t pieces, std::int32_t* counts) {
  PlaneTables tables[kPlanes];
  const auto* planes = reinterpret_cast<const std::uint8_t*>(job.row(pass.first_row));
  const std::size_t stride = job.weights.words() * sizeof(std::uint64_t);
  for (std::size_t s = 0; s < count; ++s) {
    MakeTables(planes + (stream + s) * stride + first, pieces, tables[s]);
  }
  counts += stream * kLookupOutputs;
  for (std::size_t block = pass.blocks.begin; block < pass.blocks.end; ++block) {
    for (std::size_t j = 0; j < job.weights.bits(); ++j) {
      const auto* panel = reinterpret_cast<const std::uint8_t*>(job.weights.planes(block)) +
                          j * job.weights.plane_bytes() + first * kLookupOutputs;
      switch (count) {
        case 4:
          AddDifferences<4>(tables, panel, pieces, counts);
          break;
        case 3:
          AddDifferences<3>(tables, panel, pieces, counts);
          break;
        case 2:
          AddDifferences<2>(tables, panel, pieces, counts);
          break;
        default:
          AddDifferences<1>(tables, panel, pieces, counts);
          break;
      }
      counts += pass.streams * kLookupOutputs;
    }
  }
}

void RunPass(const Job& job, const Pass& pass, std::int32_t* counts) {
  const std::size_t w_bits = job.weights.bits();
  const std::size_t num_blocks = pass.blocks.end - pass.blocks.begin;
  const std::size_t block_counts = w_bits * pass.streams * kLookupOutputs;
  std::fill_n(counts, num_blocks * block_counts, 0);
  const std::size_t all_pieces = job.weights.plane_bytes() / kLookupOutputs;
  for (std::size_t first = 0; first < all_pieces; first += kChunk) {
    const std::size_t pieces = std::min(kChunk, all_pieces - first);
    for (std::size_t s = 0; s < pass.streams; s += kPlanes) {
      CountChunk(job, pass, s, std::min(kPlanes, pass.streams - s), first, pieces, counts);
    }
  }
  for (std::size_t r = 0; r < pass.rows; ++r) {
    const float row_sum = RowSum(job, pass.first_row + r);
    for (std::size_t b = 0; b < num_blocks; ++b) {
      Epilogue(job, pass.blocks.begin + b, pass.first_row + r,
               counts + b * block_counts + r * job.x_bits() * kLookupOutputs, pass.streams,
               row_sum);
    }
  }
}

void BitMatmulLookup(const std::uint64_t* x, const numerics::Basis& x_basis,
                     const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) {
  const Job job{x, x_basis, weights, y};
  alignas(64) std::int32_t counts[kMaxCounts];
  const std::size_t rows = std::min(kLookupRows, y.rows());
  const std::size_t block_counts = rows * job.x_bits() * weights.bits() * kLookupOutputs;
  const std::size_t step =
      std::min(kMaxBlocks, kMaxCounts / std::max<std::size_t>(block_counts, 1));
  for (std::size_t block = blocks.begin; block < blocks.end; block += step) {
    const BlockRange some{block, std::min(block + step, blocks.end)};
    for (std::size_t r = 0; r < y.rows(); r += kLookupRows) {
      const std::size_t count = std::min(kLookupRows, y.rows() - r);
      RunPass(job, {r, count, count * job.x_bits(), some}, counts);
    }
  }
}

/// Only AVX3_DL and NEON count the bits of a vector in one instruction; scalar code is faster with
/// words.
bool LookupBeatsPopcount() {
  return HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3;
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(BitMatmulLookup);
HALFTONE_EXPORT(LookupBeatsPopcount);

void bit_matmul_lookup(const std::uint64_t* x, const numerics::Basis& x_basis,
                       const BitMatmulWeights& weights, BlockRange blocks,
                       MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH(BitMatmulLookup)(x, x_basis, weights, blocks, y);
}

bool lookup_beats_popcount() noexcept { return HALFTONE_DISPATCH(LookupBeatsPopcount)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
