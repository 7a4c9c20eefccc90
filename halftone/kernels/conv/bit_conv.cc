// SPDX-License-Identifier: Apache-2.0
// bit_conv(): the pixels that some lines see become positions in a table of differences; windows
// of several pixels and planes then look up the weights of up to four blocks of outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/bit_conv.cc"
#include "halftone/kernels/conv/bit_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include "halftone/base/bits.h"
#include "halftone/kernels/conv/finish-inl.h"
#include "halftone/kernels/keep-inl.h"

#ifndef HALFTONE_KERNELS_CONV_BIT_CONV_ONCE_
#define HALFTONE_KERNELS_CONV_BIT_CONV_ONCE_
namespace halftone::kernels {

/// [byte][half][b]: in how many bits the lower and the upper half of a byte differ from b.
struct ByteDifferences {
  alignas(64) std::uint8_t tables[256][2][16];
};
constexpr ByteDifferences make_byte_differences() {
  ByteDifferences t{};
  for (unsigned byte = 0; byte < 256; ++byte) {
    for (unsigned b = 0; b < 16; ++b) {
      t.tables[byte][0][b] = static_cast<std::uint8_t>(std::popcount((byte & 15) ^ b));
      t.tables[byte][1][b] = static_cast<std::uint8_t>(std::popcount((byte >> 4) ^ b));
    }
  }
  return t;
}
inline constexpr ByteDifferences kByteDifferences = make_byte_differences();
/// Of two tables: a byte's position is that of its tables.
inline constexpr std::size_t kTablesLog2 = 5;

}  // namespace halftone::kernels
#endif  // once

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kBlock = BitConvWeights::kBlock;
constexpr std::size_t kBlockBytes = 2 * kBlock;
/// Columns, which are planes of blocks, that are counted together.
constexpr std::size_t kMostColumns = 4;
/// Windows that are counted together: planes of neighbouring pixels.
constexpr std::size_t kMostWindows = 16;

/// Columns of a panel, against windows of the strip.
struct Columns {
  const std::uint8_t* weights;  ///< from the first of the columns on
  std::size_t piece_bytes;      ///< from a piece to the next
  std::span<const std::uint32_t> inputs;
};

#if HWY_TARGET == HWY_SCALAR

template <std::size_t kColumns>
constexpr std::size_t kWindows = 1;

template <std::size_t kCount, std::size_t kColumns>
HWY_INLINE void CountDifferences(const std::uint16_t* const* x, const Columns& columns,
                                 std::uint16_t* counts) {
  static_assert(kCount == 1);
  for (std::size_t c = 0; c < kColumns; ++c, counts += kMostWindows * kBlock) {
    std::fill_n(counts, kBlock, std::uint16_t{0});
    const std::uint8_t* piece = columns.weights + c * kBlockBytes;
    for (const std::uint32_t input : columns.inputs) {
      const auto& tables = kByteDifferences.tables[x[0][input] >> kTablesLog2];
      for (std::size_t o = 0; o < kBlock; ++o) {
        counts[o] = static_cast<std::uint16_t>(counts[o] + tables[0][piece[o]] +
                                               tables[1][piece[kBlock + o]]);
      }
      piece += columns.piece_bytes;
    }
  }
}

#else

using DBytes = hn::CappedTag<std::uint8_t, kBlockBytes>;
using VBytes = hn::Vec<DBytes>;
/// Vectors of a block.
constexpr std::size_t kVectors = kBlockBytes / hn::MaxLanes(DBytes());

/// Windows whose counts of so many columns are in registers together, beside the weights, a table
/// and a result: 14 of 16.
template <std::size_t kColumns>
constexpr std::size_t kWindows = kVectors == 2 ? (kColumns == 1 ? 2 : 1)
                                               : (kColumns == 1 ? 8 : (kColumns == 2 ? 4 : 2));

/// sum + v, in the register where the sum is: GCC 12 otherwise adds into others, and copies or
/// spills these.
HWY_INLINE VBytes AddInPlace(VBytes sum, VBytes v) {
#if HWY_COMPILER_GCC_ACTUAL && HWY_TARGET == HWY_AVX2
  asm("vpaddb %1, %0, %0" : "+x"(sum.raw) : "x"(v.raw));
  return sum;
#else
  return hn::Add(sum, v);
#endif
}

/// counts[o] += the counts of the lower and the upper halves of output o; `=` in the first run.
HWY_INLINE void Widen(VBytes lower, VBytes upper, bool first_run,
                      std::uint16_t* HWY_RESTRICT counts) {
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  const hn::CappedTag<std::uint16_t, kBlock> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  alignas(64) std::uint8_t bytes[2 * kLanes];
  hn::Store(lower, DBytes(), bytes);
  if constexpr (kVectors == 2) hn::Store(upper, DBytes(), bytes + kLanes);
  for (std::size_t o = 0; o < kBlock; o += hn::MaxLanes(d16)) {
    const auto low = hn::PromoteTo(d16, hn::LoadU(d8, bytes + o));
    const auto high = hn::PromoteTo(d16, hn::LoadU(d8, bytes + kBlock + o));
    auto sum = hn::Add(low, high);
    if (!first_run) sum = hn::Add(sum, hn::LoadU(d16, counts + o));
    hn::StoreU(sum, d16, counts + o);
  }
}

/// Counts the bits in which the planes of kCount windows differ from those of kColumns columns. Per
/// piece, window and column one look-up and one addition.
/// @param x       [kCount] first positions of the windows in the strip
/// @param counts  [kColumns, kMostWindows, 16] from the first window on
template <std::size_t kCount, std::size_t kColumns>
void CountDifferences(const std::uint16_t* const* HWY_RESTRICT x, const Columns& columns,
                      std::uint16_t* HWY_RESTRICT counts) {
  const DBytes d;
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  const std::uint8_t* const tables = kByteDifferences.tables[0][0];
  const std::size_t piece_bytes = columns.piece_bytes;
  const std::uint8_t* HWY_RESTRICT piece = columns.weights;
  const std::size_t pieces = columns.inputs.size();
  const std::uint32_t* HWY_RESTRICT inputs = columns.inputs.data();
  std::size_t p = 0;
  do {
    const bool first_run = p == 0;
    const std::size_t end = std::min(p + BitConvWeights::kRun, pieces);
    VBytes sums[kCount][kColumns * kVectors];
    for (auto& window : sums) {
      for (VBytes& v : window) v = hn::Zero(d);
    }
    for (; p < end; ++p, piece += piece_bytes) {
      const std::size_t at = inputs[p];
      VBytes halves[kColumns * kVectors];
      for (std::size_t v = 0; v < kColumns * kVectors; ++v) {
        halves[v] = Keep(hn::LoadU(d, piece + v * kLanes));
      }
      for (std::size_t s = 0; s < kCount; ++s) {
        const std::uint8_t* const table = tables + x[s][at];
        const VBytes lower = Keep(hn::Load(d, table));
        const VBytes upper = kVectors == 1 ? lower : Keep(hn::Load(d, table + kBlock));
        for (std::size_t v = 0; v < kColumns * kVectors; ++v) {
          const VBytes differences =
              hn::TableLookupBytes(v % kVectors == 0 ? lower : upper, halves[v]);
          sums[s][v] = AddInPlace(sums[s][v], differences);
        }
      }
    }
    for (std::size_t s = 0; s < kCount; ++s) {
      for (std::size_t c = 0; c < kColumns; ++c) {
        Widen(sums[s][c * kVectors], sums[s][c * kVectors + kVectors - 1], first_run,
              counts + (c * kMostWindows + s) * kBlock);
      }
    }
  } while (p < pieces);
}

#endif  // HWY_TARGET == HWY_SCALAR

/// CountDifferences of any number of windows.
/// @param counts  [kColumns, kMostWindows, 16]
template <std::size_t kColumns, std::size_t kCount = kWindows<kColumns> >
HWY_INLINE void CountWindows(std::size_t num_windows, const std::uint16_t* const* x,
                             const Columns& columns, std::uint16_t* counts) {
  std::size_t s = 0;
  for (; s + kCount <= num_windows; s += kCount) {
    CountDifferences<kCount, kColumns>(x + s, columns, counts + s * kBlock);
  }
  if constexpr (kCount > 1) {
    CountWindows<kColumns, kCount / 2>(num_windows - s, x + s, columns, counts + s * kBlock);
  }
}

/// CountWindows of all columns of a panel.
/// @param counts  [num_columns, kMostWindows, 16]
HWY_INLINE void CountPanel(std::size_t num_windows, const std::uint16_t* const* x, Columns columns,
                           std::size_t num_columns, std::uint16_t* counts) {
  std::size_t c = 0;
  for (; c + kMostColumns <= num_columns; c += kMostColumns) {
    CountWindows<kMostColumns>(num_windows, x, columns, counts);
    columns.weights += kMostColumns * kBlockBytes;
    counts += kMostColumns * kMostWindows * kBlock;
  }
  switch (num_columns - c) {
    case 3:
      return CountWindows<3>(num_windows, x, columns, counts);
    case 2:
      return CountWindows<2>(num_windows, x, columns, counts);
    case 1:
      return CountWindows<1>(num_windows, x, columns, counts);
    default:
      return;
  }
}

/// Where the strip of a call lies in its scratch memory; see BitConvWeights::Strip.
struct StripMemory {
  std::uint16_t* positions;    ///< [Kx, plane_positions]
  std::uint16_t* row_ones;     ///< [width] set bits of the pixels of a row
  float* row_sums;             ///< [line_pixels] see SumRows
  std::uint16_t* window_ones;  ///< [line_pixels] set bits of the windows of a line
  std::uint16_t* ones;         ///< [Kx, slices rows, line_pixels] of a row of these windows
};

StripMemory Divide(const BitConvWeights& w, std::byte* scratch) {
  const std::size_t pixels = w.shape().line_pixels();
  auto* const positions = reinterpret_cast<std::uint16_t*>(scratch);
  if (!w.has_offset()) return {positions, nullptr, nullptr, nullptr, nullptr};
  std::uint16_t* const end = positions + w.x_bits() * w.plane_positions();
  auto* const row_sums = reinterpret_cast<float*>(end);
  auto* const window_ones = reinterpret_cast<std::uint16_t*>(row_sums + pixels);
  std::uint16_t* const row_ones = window_ones + pixels;
  return {positions, row_ones, row_sums, window_ones, row_ones + w.strip().width};
}

/// Pixels of a plane, all channels of each.
struct Pixels {
  const std::uint64_t* words;
  std::size_t stride;  ///< in words, from a pixel to the next
  std::size_t count;
};

/// The bytes of channels [first, last) of each pixel as positions in the tables.
/// @param to  [count, pieces]
HWY_INLINE void FillSome(const Pixels& pixels, std::size_t first, std::size_t last,
                         std::size_t pieces, std::uint16_t* HWY_RESTRICT to) {
  for (std::size_t q = 0; q < pixels.count; ++q, to += pieces) {
    const std::span words(pixels.words + q * pixels.stride, words_for_bits(last));
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t begin = first + BitConvWeights::kPieceInputs * p;
      const std::size_t end = std::min(begin + BitConvWeights::kPieceInputs, last);
      to[p] = static_cast<std::uint16_t>(bits_between(words, begin, end) << kTablesLog2);
    }
  }
}

/// The same for all channels.
/// @param to  [count, pieces] and up to 7 more, which are overwritten
void FillAll(const Pixels& pixels, std::size_t pieces, std::uint16_t* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  FillSome(pixels, 0, pieces * BitConvWeights::kPieceInputs, pieces, to);
#else
  const hn::CappedTag<std::uint16_t, 8> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  constexpr std::size_t kLanes = hn::MaxLanes(d16);
  const std::size_t stride = pixels.stride * sizeof(std::uint64_t);
  const auto* HWY_RESTRICT bytes = reinterpret_cast<const std::uint8_t*>(pixels.words);
  const std::uint8_t* const end = bytes + pixels.count * stride;
  for (; bytes != end; bytes += stride, to += pieces) {
    std::size_t p = 0;
    do {
      const auto eight = hn::PromoteTo(d16, hn::LoadU(d8, bytes + p));
      hn::StoreU(hn::ShiftLeft<kTablesLog2>(eight), d16, to + p);
      p += kLanes;
    } while (p < pieces);
  }
#endif
}

/// How many of channels [first, last) of each pixel have their bit set.
/// @param ones  [count]
void CountOnes(const Pixels& pixels, std::size_t first, std::size_t last,
               std::uint16_t* HWY_RESTRICT ones) {
  const std::size_t num_words = words_for_bits(last);
  for (std::size_t q = 0; q < pixels.count; ++q) {
    const std::uint64_t* words = pixels.words + q * pixels.stride;
    int count = 0;
    for (std::size_t c = first; c < last; c += 64) {
      count += std::popcount(bits_between({words, num_words}, c, std::min(c + 64, last)));
    }
    ones[q] = static_cast<std::uint16_t>(count);
  }
}

/// The same for all channels.
void CountAllOnes(const Pixels& pixels, std::size_t num_words, std::uint16_t* HWY_RESTRICT ones) {
  const std::size_t stride = pixels.stride;
  const std::uint64_t* HWY_RESTRICT words = pixels.words;
  for (std::size_t q = 0; q < pixels.count; ++q, words += stride) {
    int count = std::popcount(words[0]);
    for (std::size_t w = 1; w < num_words; ++w) count += std::popcount(words[w]);
    ones[q] = static_cast<std::uint16_t>(count);
  }
}

/// The set bits of the windows along a row.
void SumOnes(const ConvAxis& axis, const std::uint16_t* HWY_RESTRICT row_ones,
             std::uint16_t* HWY_RESTRICT ones) {
  for (std::size_t x = 0; x < axis.output; ++x) ones[x] = 0;
  for (std::size_t k = 0; k < axis.kernel; ++k) {
    const std::uint16_t* HWY_RESTRICT from = row_ones + k * axis.dilation;
    if (axis.stride == 1) {
      for (std::size_t x = 0; x < axis.output; ++x) {
        ones[x] = static_cast<std::uint16_t>(ones[x] + from[x]);
      }
    } else {
      for (std::size_t x = 0; x < axis.output; ++x) {
        ones[x] = static_cast<std::uint16_t>(ones[x] + from[x * axis.stride]);
      }
    }
  }
}

/// One row of pixels of all planes.
/// @param x    pixels of the row, [input, Kx, words]; null: the row is outside the image
/// @param row  of the strip
void FillRow(const BitConvWeights& w, std::size_t group, const std::uint64_t* x, std::size_t row,
             const StripMemory& memory) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t width = w.strip().width;
  const std::size_t pieces = w.tap_pieces();
  const std::size_t words = words_for_bits(w.shape().channels);
  const std::size_t first = std::min(axis.pad_before, width);
  const std::size_t last = x == nullptr ? first : std::min(axis.pad_before + axis.input, width);
  const std::size_t strip_rows = w.strip().slices * w.strip().rows;
  const bool all = w.shape().groups == 1;
  const std::size_t first_channel = group * w.shape().group_channels();
  const std::size_t last_channel = first_channel + w.shape().group_channels();
  for (std::size_t i = 0; i < w.x_bits(); ++i) {
    const Pixels pixels{x == nullptr ? nullptr : x + i * words, w.x_bits() * words, last - first};
    std::uint16_t* to = memory.positions + i * w.plane_positions() + row * width * pieces;
    std::fill_n(to, first * pieces, std::uint16_t{0});
    if (all) {
      FillAll(pixels, pieces, to + first * pieces);
    } else {
      FillSome(pixels, first_channel, last_channel, pieces, to + first * pieces);
    }
    std::fill(to + last * pieces, to + width * pieces, std::uint16_t{0});
    if (!w.has_offset()) continue;
    std::fill_n(memory.row_ones, first, std::uint16_t{0});
    if (all && words != 0) {
      CountAllOnes(pixels, words, memory.row_ones + first);
    } else {
      CountOnes(pixels, first_channel, last_channel, memory.row_ones + first);
    }
    std::fill(memory.row_ones + last, memory.row_ones + width, std::uint16_t{0});
    SumOnes(axis, memory.row_ones, memory.ones + (i * strip_rows + row) * axis.output);
  }
}

/// The pixels that output lines [y, y + lines) of a plane see.
void FillStrip(const std::uint64_t* x, const BitConvWeights& w, std::size_t group,
               const ConvLine& line, std::size_t lines, const StripMemory& memory) {
  const std::size_t pixel_words = w.x_bits() * words_for_bits(w.shape().channels);
  for_each_strip_row(w.shape(), w.strip(), line, lines,
                     [&](std::size_t row, bool inside, std::size_t first) {
                       const std::uint64_t* pixels = inside ? x + first * pixel_words : nullptr;
                       FillRow(w, group, pixels, row, memory);
                     });
}

/// Some neighbouring output pixels of a line, and all they need.
struct Tile {
  std::size_t group;
  std::size_t first_pixel;  ///< of all
  std::size_t x;            ///< the first one in its line
  std::size_t count;
  std::size_t row;           ///< of the strip where its windows begin
  std::size_t line_pattern;  ///< see PaddingPatterns::line()
};

/// sum_i a'_i S_i of the windows of a line.
/// @param row  of the strip where they begin
void SumRows(const BitConvWeights& w, const StripMemory& memory, std::size_t row) {
  const auto& [az, ay, ax] = w.shape().axes;
  const std::size_t pixels = ax.output;
  const std::size_t strip_rows = w.strip().slices * w.strip().rows;
  const auto n = static_cast<std::int32_t>(w.shape().inputs());
  std::uint16_t* HWY_RESTRICT counts = memory.window_ones;
  float* HWY_RESTRICT sums = memory.row_sums;
  std::fill_n(sums, pixels, 0.0F);
  for (std::size_t i = 0; i < w.x_bits(); ++i) {
    std::fill_n(counts, pixels, std::uint16_t{0});
    for (std::size_t kz = 0; kz < az.kernel; ++kz) {
      for (std::size_t ky = 0; ky < ay.kernel; ++ky) {
        const std::size_t at = kz * az.dilation * w.strip().rows + row + ky * ay.dilation;
        const std::uint16_t* HWY_RESTRICT ones = memory.ones + (i * strip_rows + at) * pixels;
        for (std::size_t x = 0; x < pixels; ++x) {
          counts[x] = static_cast<std::uint16_t>(counts[x] + ones[x]);
        }
      }
    }
    const float a = w.x_basis().coefficients[i];
    for (std::size_t x = 0; x < pixels; ++x) {
      sums[x] += a * static_cast<float>(2 * std::int32_t{counts[x]} - n);
    }
  }
}

/// The way from the counts of a block to outputs. Kept as a local copy, which the compiler knows
/// that no output overwrites.
struct BlockFloats {
  const float* base;      ///< of pattern 0
  const float* products;  ///< of planes 0 and 0
  const float* offsets;   ///< null: there are none
  std::size_t row;        ///< from a row to the next
  std::size_t x_bits;
  std::size_t w_bits;
  std::size_t plane_counts;  ///< from the counts of a plane of the weights to the next
  float half_n;
};

/// A vector of outputs, from lane `o` of the counts on. (2 a'_i a_j) (n / 2 - count) is exactly
/// (a'_i a_j) D_ij before it is rounded.
/// @param counts  [Kw, plane_counts] from the first plane of the pixel on
template <class D>
HWY_INLINE hn::Vec<D> SumPlanes(D d, const BlockFloats& floats,
                                const std::uint16_t* HWY_RESTRICT counts, std::size_t pattern,
                                float row_sum, std::size_t o) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint16_t, D> d16;
  const auto half_n = hn::Set(d, floats.half_n);
  auto acc = hn::LoadU(d, floats.base + pattern * floats.row + o);
  const float* product = floats.products + o;
  for (std::size_t i = 0; i < floats.x_bits; ++i) {
    for (std::size_t j = 0; j < floats.w_bits; ++j, product += floats.row) {
      const std::uint16_t* from = counts + j * floats.plane_counts + i * kBlock + o;
      const auto count = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d16, from)));
      acc = hn::Add(acc, hn::Mul(hn::LoadU(d, product), hn::Sub(half_n, count)));
    }
  }
  if (floats.offsets != nullptr) {
    acc = hn::Add(acc, hn::Mul(hn::LoadU(d, floats.offsets + o), hn::Set(d, row_sum)));
  }
  return acc;
}

/// The outputs of a block of all pixels of a tile. The numbers of bits are known while compiling,
/// or 0.
/// @param counts  [Kw, plane_counts] of the block
template <std::size_t kXBits, std::size_t kWBits>
void FinishBlock(const BitConvWeights& w, const Tile& tile, std::size_t block,
                 const std::uint16_t* HWY_RESTRICT counts, std::size_t plane_counts,
                 const float* HWY_RESTRICT row_sums, const ConvFinish& finish,
                 const MatrixView<float>& y) {
  const hn::CappedTag<float, 8> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const std::size_t group_outputs = w.shape().group_outputs();
  const std::size_t column = (tile.group * w.blocks() + block) * kBlock;
  const BlockFloats floats{w.base(0) + column,
                           w.products(0, 0) + column,
                           w.has_offset() ? w.offsets() + column : nullptr,
                           w.float_row(),
                           kXBits == 0 ? w.x_bits() : kXBits,
                           kWBits == 0 ? w.bits() : kWBits,
                           plane_counts,
                           0.5F * static_cast<float>(w.shape().inputs())};
  const std::size_t valid = std::min(kBlock, group_outputs - block * kBlock);
  const std::size_t* HWY_RESTRICT patterns = w.patterns().along_line().data() + tile.x;
  const std::size_t num_pixels = tile.count;
  const std::size_t line_pattern = tile.line_pattern;
  Finisher to(finish, y, tile.first_pixel, tile.group * group_outputs + block * kBlock);
  for (std::size_t t = 0; t < num_pixels; ++t, counts += floats.x_bits * kBlock) {
    const std::size_t pattern = line_pattern + patterns[t];
    const float row_sum = row_sums == nullptr ? 0 : row_sums[t];
    if (valid == kBlock) {
      for (std::size_t o = 0; o < kBlock; o += kLanes) {
        to.Store(d, SumPlanes(d, floats, counts, pattern, row_sum, o), o);
      }
    } else {
      for (std::size_t o = 0; o < valid; o += kLanes) {
        const auto sums = SumPlanes(d, floats, counts, pattern, row_sum, o);
        to.StoreSome(d, sums, std::min(kLanes, valid - o), o);
      }
    }
    to.NextPixel();
  }
}

using FinishFunction = void (*)(const BitConvWeights&, const Tile&, std::size_t,
                                const std::uint16_t*, std::size_t, const float*, const ConvFinish&,
                                const MatrixView<float>&);

/// FinishBlock, with the loops over planes unrolled for few of them.
FinishFunction ChooseFinish(const BitConvWeights& w) {
  if (w.x_bits() == 1 && w.bits() == 1) return FinishBlock<1, 1>;
  if (w.x_bits() == 1 && w.bits() == 2) return FinishBlock<1, 2>;
  if (w.x_bits() == 2 && w.bits() == 1) return FinishBlock<2, 1>;
  if (w.x_bits() == 2 && w.bits() == 2) return FinishBlock<2, 2>;
  return FinishBlock<0, 0>;
}

void ComputeTile(const BitConvWeights& w, const Tile& tile, const StripMemory& memory,
                 FinishFunction finish_block, const ConvFinish& finish,
                 const MatrixView<float>& y) {
  constexpr std::size_t kPanel = BitConvWeights::kPanelBlocks;
  alignas(64) std::uint16_t counts[numerics::kMaxBits * kPanel * kMostWindows * kBlock];
  const std::uint16_t* windows[kMostWindows];
  const std::size_t x_bits = w.x_bits();
  const std::size_t stride = w.shape().axes[2].stride;
  const std::size_t first = (tile.row * w.strip().width + tile.x * stride) * w.tap_pieces();
  for (std::size_t i = 0; i < x_bits; ++i) {
    const std::uint16_t* window = memory.positions + i * w.plane_positions() + first;
    for (std::size_t t = 0; t < tile.count; ++t, window += stride * w.tap_pieces()) {
      windows[t * x_bits + i] = window;
    }
  }
  const float* row_sums = w.has_offset() ? memory.row_sums + tile.x : nullptr;
  for (std::size_t block = 0; block < w.blocks(); block += kPanel) {
    const std::size_t blocks = std::min(kPanel, w.blocks() - block);
    const std::size_t columns = w.bits() * blocks;
    CountPanel(tile.count * w.x_bits(), windows,
               {w.panel(tile.group, block), columns * kBlockBytes, w.inputs()}, columns, counts);
    for (std::size_t b = 0; b < blocks; ++b) {
      finish_block(w, tile, block + b, counts + b * kMostWindows * kBlock,
                   blocks * kMostWindows * kBlock, row_sums, finish, y);
    }
  }
}

void BitConv(const std::uint64_t* x, const BitConvWeights& w, LineRange lines,
             const ConvFinish& finish, std::byte* scratch, MatrixView<float> y) {
  const ConvShape& shape = w.shape();
  const StripMemory memory = Divide(w, scratch);
  const std::size_t tile_pixels = kMostWindows / w.x_bits();
  const FinishFunction finish_block = ChooseFinish(w);
  for (std::size_t first = lines.begin; first < lines.end;) {
    const ConvLine line = line_at(shape, first);
    const std::size_t count =
        std::min({w.strip().lines, lines.end - first, shape.axes[1].output - line.y});
    for (std::size_t group = 0; group < shape.groups; ++group) {
      FillStrip(x, w, group, line, count, memory);
      for (std::size_t l = 0; l < count; ++l) {
        const std::size_t row = l * shape.axes[1].stride;
        if (w.has_offset()) SumRows(w, memory, row);
        for (std::size_t p = 0; p < shape.line_pixels(); p += tile_pixels) {
          const Tile tile{group, (first + l) * shape.line_pixels() + p,
                          p,     std::min(tile_pixels, shape.line_pixels() - p),
                          row,   w.patterns().line(line.z, line.y + l)};
          ComputeTile(w, tile, memory, finish_block, finish, y);
        }
      }
    }
    first += count;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(BitConv);

void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights, LineRange lines,
              const ConvFinish& finish, std::span<std::byte> scratch,
              MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(y.rows() == weights.shape().num_pixels() && y.cols() == weights.shape().outputs);
  HALFTONE_ASSERT(lines.begin <= lines.end && lines.end <= weights.shape().num_lines());
  HALFTONE_ASSERT(scratch.size() >= weights.scratch_bytes());
  HWY_DYNAMIC_DISPATCH(BitConv)(x.data(), weights, lines, finish, scratch.data(), y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
