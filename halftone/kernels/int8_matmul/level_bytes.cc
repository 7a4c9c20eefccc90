// SPDX-License-Identifier: Apache-2.0
// level_matmul() for LevelLayout::kBytes: levels without sign times activations with one, four
// inputs of an output beside each other, as the dot product of AVX-512 VNNI wants them. Elsewhere
// they are widened to 16 bits and multiplied in pairs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/level_bytes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/int8_matmul/finish-inl.h"
#include "halftone/kernels/int8_matmul/level_fold-inl.h"
#include "halftone/kernels/int8_matmul/level_layouts.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = LevelMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
constexpr std::size_t kPiece = Weights::kByteInputs;
/// Blocks of outputs that share a copy of the activations.
constexpr std::size_t kMostBlocks = 4;
/// Pieces of activations that are copied at a time: they stay in the first-level cache.
constexpr std::size_t kChunk = 256;

#if HWY_TARGET == HWY_AVX3_DL

/// As an activation is copied.
using Activation = std::int8_t;
/// Rows whose sums fit the registers.
constexpr std::size_t kMostRows = 12;

/// sums[r][o] += products of `pieces` pieces. Per piece, row and 16 outputs one dot product.
/// @param levels  [pieces, 32, 4]
/// @param x       [kRows, kChunk, 4]
/// @param sums    [kRows, 32]
template <std::size_t kRows>
HALFTONE_VNNI void AddProducts(const std::uint8_t* HWY_RESTRICT levels,
                               const Activation* HWY_RESTRICT x, std::size_t pieces,
                               std::int32_t* HWY_RESTRICT sums) {
  __m512i acc[kRows][2];
  for (std::size_t r = 0; r < kRows; ++r) {
    acc[r][0] = _mm512_loadu_si512(sums + r * kBlock);
    acc[r][1] = _mm512_loadu_si512(sums + r * kBlock + 16);
  }
  for (std::size_t p = 0; p < pieces; ++p) {
    const __m512i low = _mm512_loadu_si512(levels + p * kBlock * kPiece);
    const __m512i high = _mm512_loadu_si512(levels + p * kBlock * kPiece + 64);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::int32_t four;
      std::memcpy(&four, x + (r * kChunk + p) * kPiece, sizeof(four));
      const __m512i inputs = _mm512_set1_epi32(four);
      acc[r][0] = _mm512_dpbusd_epi32(acc[r][0], low, inputs);
      acc[r][1] = _mm512_dpbusd_epi32(acc[r][1], high, inputs);
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    _mm512_storeu_si512(sums + r * kBlock, acc[r][0]);
    _mm512_storeu_si512(sums + r * kBlock + 16, acc[r][1]);
  }
}

#elif HWY_TARGET == HWY_SCALAR

using Activation = std::int16_t;
constexpr std::size_t kMostRows = 1;

template <std::size_t kRows>
void AddProducts(const std::uint8_t* HWY_RESTRICT levels, const Activation* HWY_RESTRICT x,
                 std::size_t pieces, std::int32_t* HWY_RESTRICT sums) {
  static_assert(kRows == 1);
  for (std::size_t p = 0; p < pieces; ++p) {
    for (std::size_t o = 0; o < kBlock; ++o) {
      for (std::size_t i = 0; i < kPiece; ++i) {
        sums[o] += levels[(p * kBlock + o) * kPiece + i] * x[p * kPiece + i];
      }
    }
  }
}

#else

using Activation = std::int16_t;
using DShorts = hn::CappedTag<std::int16_t, 16>;
using DBytes = hn::Rebind<std::uint8_t, DShorts>;
using DInts = hn::RepartitionToWide<DShorts>;
using VShorts = hn::Vec<DShorts>;
using VInts = hn::Vec<DInts>;
/// Outputs whose four inputs fill a vector.
constexpr std::size_t kOutputs = hn::MaxLanes(DShorts()) / kPiece;
/// Vectors of sums per row; with these, two of levels, one of activations and one of products, all
/// 16 registers of AVX2 are taken.
constexpr std::size_t kVectors = 2;
constexpr std::size_t kMostRows = 6;

/// acc + the sums of the products of neighbouring lanes.
HWY_INLINE VInts AddPairs(VInts acc, VShorts a, VShorts b) {
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
  return hn::Add(acc, VInts{_mm256_madd_epi16(a.raw, b.raw)});
#elif HWY_TARGET == HWY_SSE4
  return hn::Add(acc, VInts{_mm_madd_epi16(a.raw, b.raw)});
#else
  const DInts d;
  const auto even = [&](VShorts v) {
    return hn::ShiftRight<16>(hn::ShiftLeft<16>(hn::BitCast(d, v)));
  };
  const auto odd = [&](VShorts v) { return hn::ShiftRight<16>(hn::BitCast(d, v)); };
  return hn::Add(acc, hn::Add(hn::Mul(even(a), even(b)), hn::Mul(odd(a), odd(b))));
#endif
}

/// sums[r][o] += products of `pieces` pieces. Per piece, row and vector of outputs one product of
/// pairs and one addition.
/// @param levels  [pieces, 32, 4]
/// @param x       [kRows, kChunk, 4]
/// @param sums    [kRows, 32]
template <std::size_t kRows>
HWY_INLINE void AddProducts(const std::uint8_t* HWY_RESTRICT levels,
                            const Activation* HWY_RESTRICT x, std::size_t pieces,
                            std::int32_t* HWY_RESTRICT sums) {
  const DShorts d;
  const DInts d32;
  const hn::Repartition<std::int64_t, DShorts> d64;
  const DBytes d8;
  for (std::size_t first = 0; first < kBlock; first += kVectors * kOutputs) {
    VInts acc[kRows][kVectors];
    for (auto& row : acc) {
      for (VInts& v : row) v = hn::Zero(d32);
    }
    const std::uint8_t* HWY_RESTRICT w = levels + first * kPiece;
    for (std::size_t p = 0; p < pieces; ++p, w += kBlock * kPiece) {
      VShorts level[kVectors];
      for (std::size_t v = 0; v < kVectors; ++v) {
        level[v] = Keep(hn::PromoteTo(d, hn::LoadU(d8, w + v * kOutputs * kPiece)));
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        std::int64_t four;
        std::memcpy(&four, x + (r * kChunk + p) * kPiece, sizeof(four));
        const VShorts inputs = Keep(hn::BitCast(d, hn::Set(d64, four)));
        for (std::size_t v = 0; v < kVectors; ++v) {
          acc[r][v] = Keep(AddPairs(acc[r][v], level[v], inputs));
        }
      }
    }
    for (std::size_t r = 0; r < kRows; ++r) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        alignas(32) std::int32_t pairs[2 * kOutputs];
        hn::Store(acc[r][v], d32, pairs);
        std::int32_t* to = sums + r * kBlock + first + v * kOutputs;
        for (std::size_t o = 0; o < kOutputs; ++o) to[o] += pairs[2 * o] + pairs[2 * o + 1];
      }
    }
  }
}

#endif

/// AddProducts of 1 to kRows rows.
template <std::size_t kRows = kMostRows>
HWY_INLINE void AddRows(std::size_t rows, const std::uint8_t* levels, const Activation* x,
                        std::size_t pieces, std::int32_t* sums) {
  if (rows == kRows) return AddProducts<kRows>(levels, x, pieces, sums);
  if constexpr (kRows > 1) AddRows<kRows - 1>(rows, levels, x, pieces, sums);
}

/// Rows of activations whose products are gathered together.
struct Tile {
  std::size_t first_row;
  std::size_t rows;   ///< <= kMostRows
  BlockRange blocks;  ///< at most kMostBlocks
};

/// Copies inputs [begin, end) of the rows, with zeros up to a whole piece; adds them to their sums.
HWY_INLINE void CopyInputs(const Int8Rows& x, const Tile& tile, std::size_t begin, std::size_t end,
                           Activation* HWY_RESTRICT to, std::int32_t* HWY_RESTRICT sums) {
  for (std::size_t r = 0; r < tile.rows; ++r, to += kChunk * kPiece) {
    const std::int8_t* from = x.q.row(tile.first_row + r).data();
    std::int32_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      to[i - begin] = from[i];
      sum += from[i];
    }
    for (std::size_t i = end - begin; i % kPiece != 0; ++i) to[i] = 0;
    sums[r] += sum;
  }
}

void ComputeTile(const Int8Rows& x, const Weights& weights, const Tile& tile,
                 const MatrixView<float>& y) {
  alignas(64) Activation copy[kMostRows * kChunk * kPiece];
  alignas(64) std::int32_t sums[kMostBlocks][kMostRows * kBlock] = {};
  alignas(64) float acc[kMostBlocks][kMostRows * kBlock] = {};
  constexpr std::size_t kChunkInputs = kChunk * kPiece;
  for (std::size_t g = 0; g < weights.num_groups(); ++g) {
    const std::size_t first = weights.group_begin(g);
    const std::size_t last = weights.group_end(g);
    std::int32_t input_sums[kMostRows] = {};
    for (std::size_t begin = first; begin < last; begin += kChunkInputs) {
      const std::size_t end = std::min(begin + kChunkInputs, last);
      CopyInputs(x, tile, begin, end, copy, input_sums);
      const std::size_t pieces = (end - begin + kPiece - 1) / kPiece;
      for (std::size_t block = tile.blocks.begin; block < tile.blocks.end; ++block) {
        const std::uint8_t* levels = weights.pieces(block, g) + (begin - first) * kBlock;
        AddRows(tile.rows, levels, copy, pieces, sums[block - tile.blocks.begin]);
      }
    }
    for (std::size_t block = tile.blocks.begin; block < tile.blocks.end; ++block) {
      const std::size_t b = block - tile.blocks.begin;
      for (std::size_t r = 0; r < tile.rows; ++r) {
        FoldGroup(weights, weights.floats(block, g), input_sums[r], sums[b] + r * kBlock,
                  acc[b] + r * kBlock);
      }
      std::fill_n(sums[b], tile.rows * kBlock, 0);
    }
  }
  for (std::size_t block = tile.blocks.begin; block < tile.blocks.end; ++block) {
    for (std::size_t r = 0; r < tile.rows; ++r) {
      FinishBlock(weights, block, x.scales[tile.first_row + r], x.offset,
                  acc[block - tile.blocks.begin] + r * kBlock, y.row(tile.first_row + r).data());
    }
  }
}

/// Tiles of about as many rows each.
void LevelMatmulBytes(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                      MatrixView<float> y) {
  for (std::size_t block = blocks.begin; block < blocks.end; block += kMostBlocks) {
    const BlockRange some{block, std::min(block + kMostBlocks, blocks.end)};
    std::size_t tiles = (y.rows() + kMostRows - 1) / kMostRows;
    for (std::size_t r = 0; r < y.rows(); --tiles) {
      const std::size_t rows = (y.rows() - r + tiles - 1) / tiles;
      ComputeTile(x, weights, {r, rows, some}, y);
      r += rows;
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(LevelMatmulBytes);

void level_matmul_bytes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HWY_DYNAMIC_DISPATCH(LevelMatmulBytes)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
