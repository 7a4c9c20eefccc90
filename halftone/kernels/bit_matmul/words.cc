// SPDX-License-Identifier: Apache-2.0
// bit_matmul() for BitLayout::kWords: xor and popcount, a word of eight outputs at a time.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/bit_matmul/words.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/bit_matmul/epilogue-inl.h"
#include "halftone/kernels/count_bits-inl.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Outputs of a block.
constexpr std::size_t kWordOutputs = 8;
/// Activation rows that share a load of the weights.
constexpr std::size_t kWordRows = 4;
/// Activation rows that share a block of weights in the first-level cache.
constexpr std::size_t kTileRows = 64;
/// Prefetch distance in words.
constexpr std::size_t kWordsAhead = 512;

#if HWY_TARGET == HWY_SCALAR

constexpr std::size_t kStreams = 1;

template <std::size_t kCount>
HWY_INLINE void CountDifferences(const std::uint64_t* x, const std::uint64_t* panel,
                                 std::size_t words, std::int32_t* counts) {
  static_assert(kCount == 1);
  std::fill(counts, counts + kWordOutputs, 0);
  for (std::size_t w = 0; w < words; ++w) {
    for (std::size_t lane = 0; lane < kWordOutputs; ++lane) {
      counts[lane] += std::popcount(x[w] ^ panel[w * kWordOutputs + lane]);
    }
  }
}

#else

using DWords = hn::CappedTag<std::uint64_t, kWordOutputs>;
using VWords = hn::Vec<DWords>;
/// Vectors that hold one word of every output of a block.
constexpr std::size_t kVectors = kWordOutputs / hn::MaxLanes(DWords());
/// Bit planes of activations that are counted together; their sums fit the registers.
constexpr std::size_t kStreams = kVectors <= 2 ? 4 : 2;

/// Counts the bits in which kCount activation planes differ from the eight outputs of a panel.
/// @param x       [kCount, words]
/// @param panel   [words, 8]
/// @param counts  [kCount, 8]
template <std::size_t kCount>
HWY_INLINE void CountDifferences(const std::uint64_t* HWY_RESTRICT x,
                                 const std::uint64_t* HWY_RESTRICT panel, std::size_t words,
                                 std::int32_t* HWY_RESTRICT counts) {
  const DWords d;
  constexpr std::size_t kLanes = hn::MaxLanes(DWords());
  VWords total[kCount][kVectors];
  for (auto& row : total) {
    for (auto& v : row) v = hn::Zero(d);
  }
  for (std::size_t begin = 0; begin < words;) {
    const std::size_t end = begin + std::min(kChunkWords, words - begin);
    VWords sum[kCount][kVectors];
    for (auto& row : sum) {
      for (auto& v : row) v = hn::Zero(d);
    }
    for (std::size_t w = begin; w < end; ++w) {
      const std::uint64_t* const ahead = panel + w * kWordOutputs + kWordsAhead;
      Prefetch(reinterpret_cast<const std::uint8_t*>(ahead), kWordOutputs * sizeof(*ahead));
      for (std::size_t v = 0; v < kVectors; ++v) {
        const VWords weight = hn::Load(d, panel + w * kWordOutputs + v * kLanes);
        for (std::size_t s = 0; s < kCount; ++s) {
          const VWords both = hn::Xor(weight, hn::Set(d, x[s * words + w]));
          sum[s][v] = AddCounts(sum[s][v], Popcount(both));
        }
      }
    }
    for (std::size_t s = 0; s < kCount; ++s) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        total[s][v] = hn::Add(total[s][v], WidenCounts(sum[s][v]));
      }
    }
    begin = end;
  }
  const hn::Rebind<std::uint32_t, DWords> d32;
  for (std::size_t s = 0; s < kCount; ++s) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(hn::BitCast(hn::RebindToSigned<decltype(d32)>(), hn::TruncateTo(d32, total[s][v])),
                 hn::RebindToSigned<decltype(d32)>(), counts + s * kWordOutputs + v * kLanes);
    }
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

/// CountDifferences for any number of planes against every weight plane of a block.
/// @param counts  [num_streams, Kw, 8]
HWY_INLINE void CountBlock(const Job& job, const std::uint64_t* HWY_RESTRICT x,
                           std::size_t num_streams, std::size_t block,
                           std::int32_t* HWY_RESTRICT counts) {
  const std::size_t words = job.weights.words();
  const std::size_t w_bits = job.weights.bits();
  const auto* planes = reinterpret_cast<const std::uint64_t*>(job.weights.planes(block));
  for (std::size_t j = 0; j < w_bits; ++j) {
    const std::uint64_t* panel = planes + j * words * kWordOutputs;
    std::int32_t* out = counts + j * num_streams * kWordOutputs;
    std::size_t s = 0;
    for (; s + kStreams <= num_streams; s += kStreams) {
      CountDifferences<kStreams>(x + s * words, panel, words, out + s * kWordOutputs);
    }
    if constexpr (kStreams == 4) {
      if (num_streams - s == 3) {
        CountDifferences<3>(x + s * words, panel, words, out + s * kWordOutputs);
        continue;
      }
      if (num_streams - s == 2) {
        CountDifferences<2>(x + s * words, panel, words, out + s * kWordOutputs);
        continue;
      }
    }
    if (s != num_streams) {
      CountDifferences<1>(x + s * words, panel, words, out + s * kWordOutputs);
    }
  }
}

/// Rows [first, first + count) of y, count <= kWordRows, for one block of outputs.
HWY_INLINE void RowsOfBlock(const Job& job, std::size_t block, std::size_t first, std::size_t count,
                            const float* row_sums) {
  constexpr std::size_t kMaxBits = numerics::kMaxBits;
  const std::size_t streams = count * job.x_bits();
  alignas(64) std::int32_t counts[kWordRows * kMaxBits * kMaxBits * kWordOutputs];
  CountBlock(job, job.row(first), streams, block, counts);
  for (std::size_t r = 0; r < count; ++r) {
    Epilogue(job, block, first + r, counts + r * job.x_bits() * kWordOutputs, streams, row_sums[r]);
  }
}

void BitMatmulWords(const std::uint64_t* x, const numerics::Basis& x_basis,
                    const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) {
  const Job job{x, x_basis, weights, y};
  for (std::size_t tile = 0; tile < y.rows(); tile += kTileRows) {
    const std::size_t tile_rows = std::min(kTileRows, y.rows() - tile);
    float row_sums[kTileRows];
    for (std::size_t r = 0; r < tile_rows; ++r) row_sums[r] = RowSum(job, tile + r);
    for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
      for (std::size_t r = 0; r < tile_rows; r += kWordRows) {
        RowsOfBlock(job, block, tile + r, std::min(kWordRows, tile_rows - r), row_sums + r);
      }
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(BitMatmulWords);

void bit_matmul_words(const std::uint64_t* x, const numerics::Basis& x_basis,
                      const BitMatmulWeights& weights, BlockRange blocks,
                      MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH(BitMatmulWords)(x, x_basis, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
