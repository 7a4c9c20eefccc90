// SPDX-License-Identifier: Apache-2.0
// level_matmul() for LevelLayout::kBytes and kSmallBytes: unsigned levels times signed activations,
// with four neighbouring inputs per output, as the dot product of AVX-512 VNNI requires.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/level_bytes.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/int8_matmul/byte_rows-inl.h"
#include "halftone/kernels/int8_matmul/finish-inl.h"
#include "halftone/kernels/int8_matmul/fold_group-inl.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/level_rows-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = LevelMatmulWeights;

constexpr std::size_t kBlock = Weights::kBlock;
constexpr std::size_t kPiece = Weights::kByteInputs;
/// Blocks of outputs that share a copy of the activations.
constexpr std::size_t kBandBlocks = 4;
static_assert(kBlock == kRowOutputs && kPiece == kQuad);

#if HWY_TARGET == HWY_SCALAR
using ManyBits = PlainProducts;
#elif HALFTONE_USES_VNNI || HWY_TARGET == HWY_NEON
using ManyBits = ByteProducts<kLevelOffset>;
#else

using DWide = hn::CappedTag<std::int16_t, 16>;
using DWideSums = hn::RepartitionToWide<DWide>;
using VWide = hn::Vec<DWide>;
using VWideSums = hn::Vec<DWideSums>;

/// Levels of 8 bits, widened to 16. Per piece, row and vector of outputs one product of pairs and
/// one addition.
struct WideProducts {
  using Activation = std::int16_t;
  static constexpr int kOffset = 0;
  static constexpr std::size_t kMaxRows = 6;
  /// Outputs whose four inputs fill a vector.
  static constexpr std::size_t kOutputs = hn::MaxLanes(DWide()) / kPiece;
  /// Vectors of sums per row. With 12 of sums, two of levels, one of activations and one of
  /// products, all 16 registers of AVX2 are taken.
  static constexpr std::size_t vectors_of(std::size_t rows) {
    return std::min<std::size_t>(kBlock / kOutputs, rows == 1 ? 8 : rows == 2 ? 4 : 2);
  }

  /// sums[o] += both lanes of output o.
  /// @param acc  two vectors
  static HWY_INLINE void AddLanes(const VWideSums* acc, std::int32_t* HWY_RESTRICT sums) {
    const DWideSums d;
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3
    const __m256i halves = _mm256_hadd_epi32(acc[0].raw, acc[1].raw);
    const VWideSums ordered{_mm256_permute4x64_epi64(halves, 0xD8)};
    hn::StoreU(hn::Add(ordered, hn::LoadU(d, sums)), d, sums);
#elif HWY_TARGET == HWY_SSE4
    const VWideSums ordered{_mm_hadd_epi32(acc[0].raw, acc[1].raw)};
    hn::StoreU(hn::Add(ordered, hn::LoadU(d, sums)), d, sums);
#else
    for (std::size_t v = 0; v < 2; ++v, sums += kOutputs) {
      alignas(32) std::int32_t pairs[2 * kOutputs];
      hn::Store(acc[v], d, pairs);
      for (std::size_t o = 0; o < kOutputs; ++o) sums[o] += pairs[2 * o] + pairs[2 * o + 1];
    }
#endif
  }

  template <std::size_t kRows>
  static HWY_INLINE void Add(const std::uint8_t* HWY_RESTRICT levels,
                             const Activation* HWY_RESTRICT x, std::size_t pieces,
                             std::int32_t* HWY_RESTRICT sums) {
    const DWide d;
    const hn::Repartition<std::int64_t, DWide> d64;
    const hn::Rebind<std::uint8_t, DWide> d8;
    constexpr std::size_t kVectors = vectors_of(kRows);
    for (std::size_t first = 0; first < kBlock; first += kVectors * kOutputs) {
      VWideSums acc[kRows][kVectors];
      for (auto& row : acc) {
        for (VWideSums& v : row) v = hn::Zero(DWideSums());
      }
      const std::uint8_t* HWY_RESTRICT w = levels + first * kPiece;
      for (std::size_t p = 0; p < pieces; ++p, w += kBlock * kPiece) {
        PrefetchLevels(w, first, kVectors * kOutputs);
        VWideSums level[kVectors];
        for (std::size_t v = 0; v < kVectors; ++v) {
          const VWide wide = Keep(hn::PromoteTo(d, hn::LoadU(d8, w + v * kOutputs * kPiece)));
          level[v] = hn::BitCast(DWideSums(), wide);
        }
        for (std::size_t r = 0; r < kRows; ++r) {
          std::int64_t four;
          std::memcpy(&four, x + (r * kChunk + p) * kPiece, sizeof(four));
          const VWideSums inputs = Keep(hn::BitCast(DWideSums(), hn::Set(d64, four)));
          for (std::size_t v = 0; v < kVectors; ++v) {
            acc[r][v] = Keep(AddPairProducts(acc[r][v], level[v], inputs));
          }
        }
      }
      for (std::size_t r = 0; r < kRows; ++r) {
        for (std::size_t v = 0; v < kVectors; v += 2) {
          AddLanes(acc[r] + v, sums + r * kBlock + first + v * kOutputs);
        }
      }
    }
  }
};
using ManyBits = WideProducts;

#endif

#if HALFTONE_SUMS_SHORTS

/// Multiplies levels without their common factor: two instructions for a vector of products, where
/// ByteProducts takes three.
struct SmallProducts : FewBits {
  template <std::size_t kRows>
  static void Add(const std::uint8_t* HWY_RESTRICT levels, const Activation* HWY_RESTRICT x,
                  std::size_t quads, std::int32_t* HWY_RESTRICT sums) {
    const DBytes d;
    const DInts d32;
    const VShorts ones = hn::Set(DShorts(), std::uint16_t{1});
    constexpr std::size_t kVectors = vectors_of(kRows);
    for (std::size_t first = 0; first < kBlock; first += kVectors * kOutputs) {
      const std::uint8_t* HWY_RESTRICT w = levels + first * kPiece;
      for (std::size_t begin = 0; begin < quads; begin += kSmallQuads) {
        VShorts acc[kRows][kVectors];
        for (auto& row : acc) std::fill_n(row, kVectors, hn::Zero(DShorts()));
        const std::size_t end = std::min(begin + kSmallQuads, quads);
        for (std::size_t p = begin; p < end; ++p, w += kBlock * kPiece) {
          PrefetchLevels(w, first, kVectors * kOutputs);
          VBytes level[kVectors];
          for (std::size_t v = 0; v < kVectors; ++v) {
            level[v] = Keep(hn::LoadU(d, w + v * kOutputs * kPiece));
          }
          for (std::size_t r = 0; r < kRows; ++r) {
            const Quad inputs = Keep(LoadQuad(x + (r * kChunk + p) * kPiece));
            for (std::size_t v = 0; v < kVectors; ++v) {
              acc[r][v] = Keep(AddSmallProducts(acc[r][v], level[v], inputs));
            }
          }
        }
        for (std::size_t r = 0; r < kRows; ++r) {
          for (std::size_t v = 0; v < kVectors; ++v) {
            std::int32_t* to = sums + r * kBlock + first + v * kOutputs;
            hn::StoreU(hn::Add(WidenSmallSums(acc[r][v], ones), hn::LoadU(d32, to)), d32, to);
          }
        }
      }
    }
  }
};

#else
using SmallProducts = FewBits;
#endif

/// Rows of activations whose products are gathered together.
struct Band {
  std::size_t first_row;
  std::size_t rows;   ///< <= kBandTiles * Products::kMaxRows
  BlockRange blocks;  ///< at most kBandBlocks
};

/// How many inputs of a row were copied as whole vectors, and their sum.
struct Copied {
  std::size_t count = 0;
  std::int32_t sum = 0;
};

HWY_INLINE Copied CopyVectors(std::span<const std::int8_t> from, std::int16_t* HWY_RESTRICT to) {
  // A lane of 16 bits holds the sum of more than a hundred 8-bit values.
  const hn::CappedTag<std::int16_t, 16> d;
  const hn::Rebind<std::int8_t, decltype(d)> d8;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  static_assert(kChunk * kPiece * 128 / kLanes < 1 << 15 || kLanes == 1);
  if constexpr (kLanes == 1) return {};
  auto sums = hn::Zero(d);
  Copied copied;
  for (; copied.count + kLanes <= from.size(); copied.count += kLanes) {
    const auto wide = hn::PromoteTo(d, hn::LoadU(d8, &from[copied.count]));
    sums = hn::Add(sums, wide);
    hn::StoreU(wide, d, to + copied.count);
  }
  std::int16_t lanes[kLanes];
  hn::StoreU(sums, d, lanes);
  for (const std::int16_t lane : lanes) copied.sum += lane;
  return copied;
}

#if HWY_TARGET != HWY_SCALAR

HALFTONE_VNNI Copied CopyVectors(std::span<const std::int8_t> from, std::int8_t* HWY_RESTRICT to) {
  const DSigned d;
  const VBytes ones = hn::Set(DBytes(), std::uint8_t{1});
  VInts sums = hn::Zero(DInts());
  Copied copied;
  for (; copied.count + hn::Lanes(d) <= from.size(); copied.count += hn::Lanes(d)) {
    const VSigned q = hn::LoadU(d, &from[copied.count]);
    sums = AddByteProducts(sums, ones, q);
    hn::StoreU(q, d, to + copied.count);
  }
  copied.sum = hn::GetLane(hn::SumOfLanes(DInts(), sums));
  return copied;
}

#endif

/// Copies inputs of a row, with zeros up to a whole piece; returns their sum.
/// @param from  at most kChunk pieces
template <class Activation>
HWY_INLINE std::int32_t CopyRow(std::span<const std::int8_t> from, Activation* HWY_RESTRICT to) {
  auto [i, sum] = CopyVectors(from, to);
  for (; i < from.size(); ++i) {
    to[i] = Activation{from[i]};
    sum += from[i];
  }
  for (; i % kPiece != 0; ++i) to[i] = 0;
  return sum;
}

template <class Products>
void ComputeBand(const Int8Rows& x, const Weights& weights, const Band& band,
                 const MatrixView<float>& y) {
  constexpr std::size_t kMaxRows = kBandTiles * Products::kMaxRows;
  alignas(64) typename Products::Activation copy[kMaxRows * kChunk * kPiece];
  alignas(64) std::int32_t sums[kBandBlocks][kMaxRows * kBlock] = {};
  alignas(64) float acc[kBandBlocks][kMaxRows * kBlock] = {};
  constexpr std::size_t kChunkInputs = kChunk * kPiece;
  for (std::size_t g = 0; g < weights.num_groups(); ++g) {
    const std::size_t first = weights.group_begin(g);
    const std::size_t last = weights.group_end(g);
    std::int32_t input_sums[kMaxRows] = {};
    for (std::size_t begin = first; begin < last; begin += kChunkInputs) {
      const std::size_t end = std::min(begin + kChunkInputs, last);
      for (std::size_t r = 0; r < band.rows; ++r) {
        const auto row = x.q.row(band.first_row + r).subspan(begin, end - begin);
        input_sums[r] += CopyRow(row, copy + r * kChunk * kPiece);
      }
      const std::size_t pieces = (end - begin + kPiece - 1) / kPiece;
      for (std::size_t block = band.blocks.begin; block < band.blocks.end; ++block) {
        const std::uint8_t* levels = weights.pieces(block, g) + (begin - first) * kBlock;
        AddRows<Products>(band.rows, levels, copy, pieces, sums[block - band.blocks.begin]);
      }
    }
    for (std::size_t block = band.blocks.begin; block < band.blocks.end; ++block) {
      const std::size_t b = block - band.blocks.begin;
      const std::int32_t factor = weights.factor();
      for (std::size_t i = 0; factor != 1 && i < band.rows * kBlock; ++i) sums[b][i] *= factor;
      for (std::size_t r = 0; r < band.rows; ++r) {
        FoldLevels(weights, weights.floats(block, g),
                   {sums[b] + r * kBlock, input_sums[r], Products::kOffset}, acc[b] + r * kBlock);
      }
      std::fill_n(sums[b], band.rows * kBlock, 0);
    }
  }
  for (std::size_t block = band.blocks.begin; block < band.blocks.end; ++block) {
    for (std::size_t r = 0; r < band.rows; ++r) {
      FinishBlock(weights, block, x.scales[band.first_row + r], x.offset,
                  acc[block - band.blocks.begin] + r * kBlock, y.row(band.first_row + r).data());
    }
  }
}

template <class Products>
void ComputeBands(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                  const MatrixView<float>& y) {
  for (std::size_t block = blocks.begin; block < blocks.end; block += kBandBlocks) {
    const BlockRange some{block, std::min(block + kBandBlocks, blocks.end)};
    ForEachPart(y.rows(), kBandTiles * Products::kMaxRows,
                [&](std::size_t first, std::size_t count) {
                  ComputeBand<Products>(x, weights, {first, count, some}, y);
                });
  }
}

/// sums[o] = the products of a group with a block.
template <class Products>
void SumBytes(const StripCodes& codes, const PieceInputs& x, std::int32_t* HWY_RESTRICT sums) {
  std::fill_n(sums, kBlock, 0);
  Products::template Add<1>(codes.first, x.whole, x.whole_pieces, sums);
  if (x.rest != nullptr) {
    Products::template Add<1>(codes.first + x.whole_pieces * kBlock * kPiece, x.rest, 1, sums);
  }
}

/// One row needs no copy, unless the products take activations of 16 bits.
template <class Products>
void MultiplyBytes(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                   const MatrixView<float>& y) {
  if constexpr (sizeof(typename Products::Activation) == 1) {
    using Bytes = Strips<kPiece, kBlock, kBlock, Products::kOffset>;
    if (y.rows() == 1) {
      return MultiplyByCodes<Bytes>(x, weights, blocks, SumBytes<Products>, y);
    }
  }
  ComputeBands<Products>(x, weights, blocks, y);
}

void LevelMatmulBytes(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                      MatrixView<float> y) {
  if (weights.factor() != 1) return MultiplyBytes<SmallProducts>(x, weights, blocks, y);
  if (weights.steps() <= 127) return MultiplyBytes<FewBits>(x, weights, blocks, y);
  MultiplyBytes<ManyBits>(x, weights, blocks, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(LevelMatmulBytes);

void level_matmul_bytes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH_DOT(LevelMatmulBytes)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
