// SPDX-License-Identifier: Apache-2.0
// plane_matmul() of many rows for PlaneLayout::kFives: the bits become bytes 0 and 1 once for a
// band of rows, which are multiplied by dot products of bytes. A word of the weights is 15 inputs;
// as bytes it is four quads, the last byte of which meets a zero.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/plane_dots.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/int8_matmul/byte_rows-inl.h"
#include "halftone/kernels/int8_matmul/plane_layouts.h"
#include "halftone/kernels/int8_matmul/plane_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

using Activation = FewBits::Activation;

constexpr std::size_t kWordInputs = kFivesFormat.piece_inputs;
constexpr std::size_t kWordQuads = 4;
constexpr std::size_t kWordBytes = kWordQuads * kQuad;  ///< of an output, as bytes
/// Words that become bytes at a time; with the activations they stay in the first-level cache.
constexpr std::size_t kRunWords = kChunk / kWordQuads;
constexpr std::size_t kBandRows = kBandTiles * FewBits::kMaxRows;
/// Blocks of outputs that share a copy of the activations, and their planes.
constexpr std::size_t kBandBlocks = 16;
constexpr std::size_t kBandPlanes = 16;
static_assert(kBandPlanes >= numerics::kMaxBits &&
              kFivesFormat.lane_bytes == sizeof(std::uint16_t));
static_assert(127 * Weights::kMaxInputs < std::size_t{1} << 31, "a sum must fit 32 bits");

/// Rows of activations whose products are gathered together.
struct DotBand {
  std::size_t first_row;
  std::size_t rows;   ///< at most kBandRows
  BlockRange blocks;  ///< at most kBandBlocks, of kBandPlanes planes

  [[nodiscard]] std::size_t num_blocks() const { return blocks.end - blocks.begin; }
};

struct DotBuffers {
  alignas(64) Activation inputs[kBandRows * kChunk * kQuad];  ///< [rows, kRunWords, 16] of a run
  alignas(64) std::uint8_t bits[kChunk * kBlock * kQuad];     ///< [quads, 32, 4] of a run
  alignas(64) std::int32_t sums[kBandPlanes][kBandRows * kBlock];  ///< of a group, so far
  alignas(64) float acc[kBandBlocks][kBandRows * kBlock];
  std::int32_t input_sums[kBandRows];  ///< of a group, so far
};

/// Some words of a group of a chunk.
struct DotRun {
  const PlaneChunk& chunk;
  std::size_t group;  ///< of the chunk
  std::size_t first;  ///< word of the group and chunk
  std::size_t words;  ///< at most kRunWords
};

#if HWY_TARGET == HWY_SCALAR

HWY_INLINE std::int32_t SumInputs(const Activation* inputs, std::size_t count) {
  std::int32_t sum = 0;
  for (std::size_t i = 0; i < count; ++i) sum += inputs[i];
  return sum;
}

#else

/// The sum of `count` inputs, a multiple of 64.
HALFTONE_VNNI std::int32_t SumInputs(const Activation* inputs, std::size_t count) {
  const DSigned d;
  const VBytes ones = hn::Set(DBytes(), std::uint8_t{1});
  VInts sums = hn::Zero(DInts());
  for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
    sums = AddByteProducts(sums, ones, hn::LoadU(d, inputs + i));
  }
  return hn::GetLane(hn::SumOfLanes(DInts(), sums));
}

#endif

/// Copies inputs to words of 15 and a zero; returns their sum.
/// @param from  at most 15 inputs per word; zeros follow
HWY_INLINE std::int32_t CopyWords(std::span<const std::int8_t> from, std::size_t words,
                                  Activation* HWY_RESTRICT to) {
  std::size_t word = 0;
  for (; (word + 1) * kWordInputs <= from.size(); ++word) {
    const std::int8_t* inputs = from.data() + word * kWordInputs;
    if constexpr (sizeof(Activation) == 1) {
      std::memcpy(to + word * kWordBytes, inputs, kWordInputs);
    } else {
      std::copy_n(inputs, kWordInputs, to + word * kWordBytes);
    }
    to[word * kWordBytes + kWordInputs] = 0;
  }
  const auto rest = from.subspan(word * kWordInputs);
  Activation* after = std::copy(rest.begin(), rest.end(), to + word * kWordBytes);
  constexpr std::size_t kWhole = 64;
  const std::size_t end = (words * kWordBytes + kWhole - 1) / kWhole * kWhole;
  static_assert(kRunWords * kWordBytes % kWhole == 0);
  std::fill(after, to + end, Activation{0});
  return SumInputs(to, end);
}

/// Bits of words as bytes.
/// @param words  [count, 32] of 16 bits
/// @param bits   [count, 4, 32, 4]
HWY_INLINE void ExpandWords(const std::uint8_t* HWY_RESTRICT words, std::size_t count,
                            std::uint8_t* HWY_RESTRICT bits) {
#if HWY_TARGET == HWY_AVX3_DL
  // Eight bytes begin at these bits of two words in 64 bits.
  constexpr std::int64_t kFirst = 0x2322212003020100;
  constexpr std::int64_t kNext = 0x0404040404040404;
  const __m512i one = _mm512_set1_epi8(1);
  for (std::size_t half = 0; half < 2 * count; ++half, words += kBlock) {
    const __m256i some = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(words));
    const __m512i wide = _mm512_cvtepu16_epi32(some);
    std::uint8_t* to = bits + (half / 2 * kWordQuads * kBlock + half % 2 * kBlock / 2) * kQuad;
    for (std::int64_t quad = 0; quad < std::int64_t{kWordQuads}; ++quad, to += kBlock * kQuad) {
      const __m512i begins = _mm512_set1_epi64(kFirst + quad * kNext);
      const __m512i bytes = _mm512_multishift_epi64_epi8(begins, wide);
      _mm512_storeu_si512(to, _mm512_and_si512(bytes, one));
    }
  }
#else
  // For tests: no other target prefers this.
  for (std::size_t i = 0; i < count * kBlock; ++i) {
    std::uint16_t word;
    std::memcpy(&word, words + i * sizeof(word), sizeof(word));
    std::uint8_t* to = bits + (i / kBlock * kWordQuads * kBlock + i % kBlock) * kQuad;
    for (std::size_t bit = 0; bit < kWordBytes; ++bit) {
      to[bit / kQuad * kBlock * kQuad + bit % kQuad] = static_cast<std::uint8_t>(word >> bit & 1);
    }
  }
#endif
}

/// Adds the products of a run to the sums of all planes.
void AddRun(const Int8Rows& x, const Weights& weights, const DotBand& band, const DotRun& run,
            DotBuffers& buffers) {
  const PlaneChunk& chunk = run.chunk;
  const std::size_t group = chunk.first_group + run.group;
  const std::size_t end = weights.group_end(group);
  const std::size_t begin =
      weights.group_begin(group) + (chunk.first_piece + run.first) * kWordInputs;
  const std::size_t from = std::min(begin, end);
  const std::size_t count = std::min(run.words * kWordInputs, end - from);
  for (std::size_t r = 0; r < band.rows; ++r) {
    const auto row = x.q.row(band.first_row + r).subspan(from, count);
    buffers.input_sums[r] += CopyWords(row, run.words, buffers.inputs + r * kChunk * kQuad);
  }
  constexpr std::size_t kWordSize = kBlock * kFivesFormat.lane_bytes;
  for (std::size_t b = 0; b < band.num_blocks(); ++b) {
    const std::uint8_t* words = weights.planes(chunk, band.blocks.begin + b) +
                                (run.group * weights.bits() * chunk.pieces + run.first) * kWordSize;
    for (std::size_t j = 0; j < weights.bits(); ++j, words += chunk.pieces * kWordSize) {
      ExpandWords(words, run.words, buffers.bits);
      AddRows<FewBits>(band.rows, buffers.bits, buffers.inputs, run.words * kWordQuads,
                       buffers.sums[b * weights.bits() + j]);
    }
  }
}

/// acc += a P for all planes, and c Q, of a row and a block.
/// @param floats  [float_rows(), 32]
/// @param sums    [Kw, kBandRows, 32], from the row on
HWY_INLINE void FoldRow(const Weights& weights, const float* floats, std::int32_t input_sum,
                        const std::int32_t* sums, float* acc) {
  const hn::CappedTag<std::int32_t, kBlock> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  for (std::size_t j = 0; j < weights.bits(); ++j, sums += kBandRows * kBlock) {
    const FoldSums fold{static_cast<std::uint32_t>(input_sum), floats + j * kBlock, acc};
    for (std::size_t o = 0; o < kBlock; o += hn::Lanes(di)) {
      fold(du, o, hn::BitCast(du, hn::LoadU(di, sums + o)));
    }
  }
  if (weights.has_offset()) FoldOffset(floats + weights.bits() * kBlock, input_sum, acc);
}

void ClearSums(const Weights& weights, const DotBand& band, DotBuffers& buffers) {
  for (std::size_t plane = 0; plane < band.num_blocks() * weights.bits(); ++plane) {
    std::fill_n(buffers.sums[plane], band.rows * kBlock, 0);
  }
  std::fill_n(buffers.input_sums, band.rows, 0);
}

/// Adds the sums of a group to the outputs and clears them.
void FoldBand(const Weights& weights, const DotBand& band, const PlaneChunk& chunk,
              std::size_t group, DotBuffers& buffers) {
  for (std::size_t b = 0; b < band.num_blocks(); ++b) {
    const float* floats =
        weights.floats(chunk, band.blocks.begin + b) + group * weights.float_rows() * kBlock;
    for (std::size_t r = 0; r < band.rows; ++r) {
      FoldRow(weights, floats, buffers.input_sums[r], buffers.sums[b * weights.bits()] + r * kBlock,
              buffers.acc[b] + r * kBlock);
    }
  }
  ClearSums(weights, band, buffers);
}

void ComputeDots(const Int8Rows& x, const Weights& weights, const DotBand& band,
                 const MatrixView<float>& y) {
  DotBuffers buffers;
  ClearSums(weights, band, buffers);
  for (std::size_t b = 0; b < band.num_blocks(); ++b) {
    std::fill_n(buffers.acc[b], band.rows * kBlock, 0.0F);
  }
  for (const PlaneChunk& chunk : weights.chunks()) {
    for (std::size_t g = 0; g < chunk.num_groups; ++g) {
      for (std::size_t first = 0; first < chunk.pieces; first += kRunWords) {
        AddRun(x, weights, band, {chunk, g, first, std::min(kRunWords, chunk.pieces - first)},
               buffers);
      }
      if (chunk.ends_groups) FoldBand(weights, band, chunk, g, buffers);
    }
  }
  for (std::size_t b = 0; b < band.num_blocks(); ++b) {
    for (std::size_t r = 0; r < band.rows; ++r) {
      const std::size_t row = band.first_row + r;
      FinishBlock(weights, band.blocks.begin + b, x.scales[row], x.offset,
                  buffers.acc[b] + r * kBlock, y.row(row).data());
    }
  }
}

void PlaneMatmulDots(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                     MatrixView<float> y) {
  const std::size_t step = std::min(kBandBlocks, kBandPlanes / weights.bits());
  for (std::size_t block = blocks.begin; block < blocks.end; block += step) {
    const BlockRange some{block, std::min(block + step, blocks.end)};
    ForEachPart(y.rows(), kBandRows, [&](std::size_t first, std::size_t count) {
      ComputeDots(x, weights, {first, count, some}, y);
    });
  }
}

// Per word of 32 outputs and row, look-ups take four cycles and more, dot products four, after some
// ten for the bytes. Fewer than six rows leave them waiting for their sums.
std::size_t MinDotRows() { return HWY_TARGET == HWY_AVX3_DL ? 6 : ~std::size_t{0}; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(PlaneMatmulDots);
HWY_EXPORT(MinDotRows);

void plane_matmul_dots(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                       MatrixView<float> y) noexcept {
  HWY_DYNAMIC_DISPATCH(PlaneMatmulDots)(x, weights, blocks, y);
}

std::size_t min_dot_rows() noexcept { return HWY_DYNAMIC_DISPATCH(MinDotRows)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
