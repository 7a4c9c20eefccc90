// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/bit_matmul.cc"
#include "halftone/kernels/bit_matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What one call works on: pointers and extents only.
struct Job {
  const std::uint64_t* x;  ///< [m, Kx, words]
  const numerics::Basis& x_basis;
  const BitMatmulWeights& weights;
  MatrixView<float> y;
};

/// Activation rows that share a load of the weights.
constexpr std::size_t kRows = 4;
/// Activation rows that share a block of weights in the first-level cache.
constexpr std::size_t kTileRows = 64;

#if HWY_TARGET == HWY_SCALAR

constexpr std::size_t kStreams = 1;

template <std::size_t kCount>
HWY_INLINE void CountDifferences(const std::uint64_t* x, const std::uint64_t* panel,
                                 std::size_t words, std::int32_t* counts) {
  static_assert(kCount == 1);
  std::fill(counts, counts + kOutputBlock, 0);
  for (std::size_t w = 0; w < words; ++w) {
    for (std::size_t lane = 0; lane < kOutputBlock; ++lane) {
      counts[lane] += std::popcount(x[w] ^ panel[w * kOutputBlock + lane]);
    }
  }
}

#else

using DWords = hn::CappedTag<std::uint64_t, kOutputBlock>;
using VWords = hn::Vec<DWords>;
/// Vectors that hold one word of every output of a block.
constexpr std::size_t kVectors = kOutputBlock / hn::MaxLanes(DWords());
/// Bit planes of activations counted together, as far as their sums fit in the registers.
constexpr std::size_t kStreams = kVectors <= 2 ? 4 : 2;

#if HWY_TARGET == HWY_AVX3_DL

/// Words whose counts may be added up before they are widened: no limit, lanes are 64 bits.
constexpr std::size_t kChunkWords = ~std::size_t{0};
HWY_INLINE VWords Popcount(VWords v) { return hn::PopulationCount(v); }
HWY_INLINE VWords AddCounts(VWords a, VWords b) { return hn::Add(a, b); }
HWY_INLINE VWords WidenCounts(VWords v) { return v; }

#else

/// Counts are kept per byte, at most 8 a word, so 31 words fit before they are widened.
constexpr std::size_t kChunkWords = 31;
using DBytes = hn::Repartition<std::uint8_t, DWords>;
HWY_INLINE VWords Popcount(VWords v) {
  return hn::BitCast(DWords(), hn::PopulationCount(hn::BitCast(DBytes(), v)));
}
HWY_INLINE VWords AddCounts(VWords a, VWords b) {
  return hn::BitCast(DWords(), hn::Add(hn::BitCast(DBytes(), a), hn::BitCast(DBytes(), b)));
}
HWY_INLINE VWords WidenCounts(VWords v) { return hn::SumsOf8(hn::BitCast(DBytes(), v)); }

#endif

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
      for (std::size_t v = 0; v < kVectors; ++v) {
        const VWords weight = hn::Load(d, panel + w * kOutputBlock + v * kLanes);
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
                 hn::RebindToSigned<decltype(d32)>(), counts + s * kOutputBlock + v * kLanes);
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
  for (std::size_t j = 0; j < w_bits; ++j) {
    const std::uint64_t* panel = job.weights.planes(block) + j * words * kOutputBlock;
    std::int32_t* out = counts + j * num_streams * kOutputBlock;
    std::size_t s = 0;
    for (; s + kStreams <= num_streams; s += kStreams) {
      CountDifferences<kStreams>(x + s * words, panel, words, out + s * kOutputBlock);
    }
    if constexpr (kStreams == 4) {
      if (num_streams - s == 3) {
        CountDifferences<3>(x + s * words, panel, words, out + s * kOutputBlock);
        continue;
      }
      if (num_streams - s == 2) {
        CountDifferences<2>(x + s * words, panel, words, out + s * kOutputBlock);
        continue;
      }
    }
    if (s != num_streams) {
      CountDifferences<1>(x + s * words, panel, words, out + s * kOutputBlock);
    }
  }
}

/// (sum_i ax_i S_i) + n cx of one activation row.
HWY_INLINE float RowSum(const Job& job, const std::uint64_t* x) {
  const std::size_t words = job.weights.words();
  const auto n = static_cast<std::int64_t>(job.weights.inputs());
  float sum = 0;
  for (std::size_t i = 0; i < job.x_basis.a().size(); ++i) {
    std::int64_t ones = 0;
    for (std::size_t w = 0; w < words; ++w) ones += std::popcount(x[i * words + w]);
    sum += job.x_basis.coefficients[i] * static_cast<float>(2 * ones - n);
  }
  return sum + static_cast<float>(n) * job.x_basis.offset;
}

/// Turns the counts of one row and block into eight outputs, in the order of the definition.
/// @param counts   of weight plane 0 and activation plane 0; [.., 8]
/// @param streams  from one weight plane to the next, in units of eight counts
HWY_INLINE void Epilogue(const Job& job, std::size_t block, const std::int32_t* HWY_RESTRICT counts,
                         std::size_t streams, float row_sum, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, kOutputBlock> d;
  const hn::RebindToSigned<decltype(d)> di;
  const std::size_t w_bits = job.weights.bits();
  const auto n = hn::Set(di, static_cast<std::int32_t>(job.weights.inputs()));
  for (std::size_t lane = 0; lane < kOutputBlock; lane += hn::Lanes(d)) {
    const float* floats = job.weights.floats(block) + lane;
    auto acc = hn::Zero(d);
    for (std::size_t i = 0; i < static_cast<std::size_t>(job.x_basis.bits); ++i) {
      const auto ax = hn::Set(d, job.x_basis.coefficients[i]);
      for (std::size_t j = 0; j < w_bits; ++j) {
        const auto count = hn::LoadU(di, counts + (j * streams + i) * kOutputBlock + lane);
        const auto dot = hn::ConvertTo(d, hn::Sub(n, hn::Add(count, count)));
        const auto a = hn::Mul(ax, hn::LoadU(d, floats + j * kOutputBlock));
        acc = hn::Add(acc, hn::Mul(a, dot));
      }
    }
    floats += w_bits * kOutputBlock;
    if (job.weights.has_offset()) {
      acc = hn::Add(acc, hn::Mul(hn::LoadU(d, floats), hn::Set(d, row_sum)));
    }
    if (job.x_basis.offset != 0) {
      const auto cx = hn::Set(d, job.x_basis.offset);
      acc = hn::Add(acc, hn::Mul(cx, hn::LoadU(d, floats + kOutputBlock)));
    }
    if (job.weights.has_bias()) acc = hn::Add(acc, hn::LoadU(d, floats + 2 * kOutputBlock));
    hn::StoreU(acc, d, out + lane);
  }
}

/// Rows [first, first + count) of y, count <= kRows, for one block of outputs.
HWY_INLINE void RowsOfBlock(const Job& job, std::size_t block, std::size_t first, std::size_t count,
                            const float* row_sums) {
  constexpr std::size_t kMaxBits = numerics::kMaxBits;
  const auto x_bits = static_cast<std::size_t>(job.x_basis.bits);
  const std::size_t streams = count * x_bits;
  alignas(64) std::int32_t counts[kRows * kMaxBits * kMaxBits * kOutputBlock];
  CountBlock(job, job.x + first * x_bits * job.weights.words(), streams, block, counts);
  const std::size_t column = block * kOutputBlock;
  const std::size_t columns = std::min(kOutputBlock, job.weights.outputs() - column);
  for (std::size_t r = 0; r < count; ++r) {
    float* y = job.y.data_handle() + (first + r) * job.y.stride() + column;
    const std::int32_t* row_counts = counts + r * x_bits * kOutputBlock;
    if (columns == kOutputBlock) {
      Epilogue(job, block, row_counts, streams, row_sums[r], y);
      continue;
    }
    alignas(64) float out[kOutputBlock];
    Epilogue(job, block, row_counts, streams, row_sums[r], out);
    std::memcpy(y, out, columns * sizeof(float));
  }
}

void BitMatmul(const std::uint64_t* x, const numerics::Basis& x_basis,
               const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) {
  const Job job{x, x_basis, weights, y};
  const std::size_t row_words = static_cast<std::size_t>(x_basis.bits) * weights.words();
  for (std::size_t tile = 0; tile < y.rows(); tile += kTileRows) {
    const std::size_t tile_rows = std::min(kTileRows, y.rows() - tile);
    float row_sums[kTileRows] = {};
    if (weights.has_offset()) {
      for (std::size_t r = 0; r < tile_rows; ++r) {
        row_sums[r] = RowSum(job, x + (tile + r) * row_words);
      }
    }
    for (std::size_t block = blocks.begin; block < blocks.end; ++block) {
      for (std::size_t r = 0; r < tile_rows; r += kRows) {
        RowsOfBlock(job, block, tile + r, std::min(kRows, tile_rows - r), row_sums + r);
      }
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(BitMatmul);

void bit_matmul(std::span<const std::uint64_t> x, const numerics::Basis& x_basis,
                const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.size() == y.rows() * x_basis.a().size() * weights.words());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  HWY_DYNAMIC_DISPATCH(BitMatmul)(x.data(), x_basis, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
