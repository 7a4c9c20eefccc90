// SPDX-License-Identifier: Apache-2.0
// The pixels that some lines of bit_conv() see, as positions in its tables.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BIT_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BIT_STRIP_INL_H_
#undef HALFTONE_KERNELS_CONV_BIT_STRIP_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BIT_STRIP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>

#include "halftone/base/bits.h"
#include "halftone/kernels/conv/bit_conv.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where the strip of a call lies in its scratch memory; see BitConvWeights::Strip.
struct StripMemory {
  std::uint16_t* positions;    ///< of all digits; see BitConvWeights::digit_positions
  std::uint16_t* row_ones;     ///< [width] sums of m over the set bits of the pixels of a row
  float* row_sums;             ///< [line_pixels] see SumRows
  std::uint16_t* window_ones;  ///< [line_pixels] the same of the windows of a line
  std::uint16_t* ones;         ///< [digits, slices rows, line_pixels] of a row of these windows
};

inline StripMemory Divide(const BitConvWeights& w, std::byte* scratch) {
  const std::size_t pixels = w.shape().line_pixels();
  auto* const positions = reinterpret_cast<std::uint16_t*>(scratch);
  if (!w.has_offset()) return {positions, nullptr, nullptr, nullptr, nullptr};
  std::uint16_t* const end = positions + w.digit_positions(w.digits().size());
  auto* const row_sums = reinterpret_cast<float*>(end);
  auto* const window_ones = reinterpret_cast<std::uint16_t*>(row_sums + pixels);
  std::uint16_t* const row_ones = window_ones + pixels;
  return {positions, row_ones, row_sums, window_ones, row_ones + w.strip().width};
}

/// Pixels of a row, all channels and planes of each.
struct Pixels {
  const std::uint64_t* words;  ///< of plane 0
  std::size_t stride;          ///< in words, from a pixel to the next
  std::size_t plane_words;     ///< from a plane of a pixel to the next
  std::size_t count;
};

/// Writes the positions of eight inputs: for each half by the codes of four inputs, the lower bits
/// those of the digit's first plane; or for both by the byte of the one plane.
template <bool kHalves>
HWY_INLINE std::uint16_t* WritePositions(std::uint64_t first, std::uint64_t second,
                                         std::uint16_t* HWY_RESTRICT to) {
  if constexpr (kHalves) {
    *to++ = static_cast<std::uint16_t>((first & 15) << 4 | (second & 15) << 8);
    *to++ = static_cast<std::uint16_t>((first & 0xF0) | (second & 0xF0) << 4);
  } else {
    *to++ = static_cast<std::uint16_t>(first << 5);
  }
  return to;
}

/// The digits of channels [first, last) of each pixel as positions.
/// @param to  [count, pieces, positions]
template <bool kHalves>
void FillSome(const Pixels& pixels, const numerics::Digit& digit, std::size_t first,
              std::size_t last, std::size_t pieces, std::uint16_t* HWY_RESTRICT to) {
  const std::size_t num_words = words_for_bits(last);
  for (std::size_t q = 0; q < pixels.count; ++q) {
    const std::uint64_t* pixel = pixels.words + q * pixels.stride;
    const std::span one(pixel + digit.planes[0] * pixels.plane_words, num_words);
    const std::span two(pixel + digit.planes[1] * pixels.plane_words, num_words);
    for (std::size_t p = 0; p < pieces; ++p) {
      const std::size_t begin = first + BitConvWeights::kPieceInputs * p;
      const std::size_t end = std::min(begin + BitConvWeights::kPieceInputs, last);
      const std::uint64_t second = digit.num_planes() == 1 ? 0 : bits_between(two, begin, end);
      to = WritePositions<kHalves>(bits_between(one, begin, end), second, to);
    }
  }
}

#if HWY_TARGET != HWY_SCALAR

/// The same for all channels of a digit of one plane, without halves.
/// @param to  [count, pieces] and up to 7 more, which are overwritten
inline void FillBytes(const Pixels& pixels, std::size_t plane, std::size_t pieces,
                      std::uint16_t* HWY_RESTRICT to) {
  const hn::CappedTag<std::uint16_t, 8> d16;
  const hn::Rebind<std::uint8_t, decltype(d16)> d8;
  const std::size_t stride = pixels.stride * sizeof(std::uint64_t);
  const auto* HWY_RESTRICT bytes =
      reinterpret_cast<const std::uint8_t*>(pixels.words + plane * pixels.plane_words);
  const std::uint8_t* const end = bytes + pixels.count * stride;
  for (; bytes != end; bytes += stride, to += pieces) {
    std::size_t p = 0;
    do {
      const auto eight = hn::PromoteTo(d16, hn::LoadU(d8, bytes + p));
      hn::StoreU(hn::ShiftLeft<5>(eight), d16, to + p);
      p += hn::MaxLanes(d16);
    } while (p < pieces);
  }
}

/// The same with halves; a pair of positions is a number of 32 bits.
/// @param to  [count, pieces, 2] and up to 14 more, which are overwritten
template <std::size_t kPlanes>
void FillHalves(const Pixels& pixels, const numerics::Digit& digit, std::size_t pieces,
                std::uint16_t* HWY_RESTRICT to) {
  const hn::CappedTag<std::uint32_t, 8> d32;
  const hn::Rebind<std::uint8_t, decltype(d32)> d8;
  const hn::Repartition<std::uint16_t, decltype(d32)> d16;
  const auto low = hn::Set(d32, 0x0F);
  const auto high = hn::Set(d32, 0xF0);
  const std::size_t stride = pixels.stride * sizeof(std::uint64_t);
  const auto* HWY_RESTRICT bytes = reinterpret_cast<const std::uint8_t*>(pixels.words);
  const std::size_t first = digit.planes[0] * pixels.plane_words * sizeof(std::uint64_t);
  const std::size_t second = digit.planes[1] * pixels.plane_words * sizeof(std::uint64_t);
  const std::uint8_t* const end = bytes + pixels.count * stride;
  for (; bytes != end; bytes += stride, to += 2 * pieces) {
    std::size_t p = 0;
    do {
      const auto a = hn::PromoteTo(d32, hn::LoadU(d8, bytes + first + p));
      auto lower = hn::ShiftLeft<4>(hn::And(a, low));
      auto upper = hn::ShiftLeft<16>(hn::And(a, high));
      if constexpr (kPlanes == 2) {
        const auto b = hn::PromoteTo(d32, hn::LoadU(d8, bytes + second + p));
        lower = hn::Or(lower, hn::ShiftLeft<8>(hn::And(b, low)));
        upper = hn::Or(upper, hn::ShiftLeft<20>(hn::And(b, high)));
      }
      hn::StoreU(hn::BitCast(d16, hn::Or(lower, upper)), d16, to + 2 * p);
      p += hn::MaxLanes(d32);
    } while (p < pieces);
  }
}

#endif  // HWY_TARGET != HWY_SCALAR

/// The positions of a digit of a row of pixels, of which only one group's channels count.
inline void FillDigit(const BitConvWeights& w, std::size_t group, const Pixels& pixels,
                      const numerics::Digit& digit, std::uint16_t* HWY_RESTRICT to) {
  const std::size_t pieces = w.tap_pieces();
#if HWY_TARGET != HWY_SCALAR
  if (w.shape().groups == 1) {
    if (!w.by_halves()) return FillBytes(pixels, digit.planes[0], pieces, to);
    if (digit.num_planes() == 2) return FillHalves<2>(pixels, digit, pieces, to);
    return FillHalves<1>(pixels, digit, pieces, to);
  }
#endif
  const std::size_t first = group * w.shape().group_channels();
  const std::size_t last = first + w.shape().group_channels();
  if (w.by_halves()) {
    FillSome<true>(pixels, digit, first, last, pieces, to);
  } else {
    FillSome<false>(pixels, digit, first, last, pieces, to);
  }
}

/// The sum of m over the set bits of channels [first, last) of each pixel.
/// @param ones  [count]
inline void CountOnes(const Pixels& pixels, const numerics::Digit& digit, std::size_t first,
                      std::size_t last, std::uint16_t* HWY_RESTRICT ones) {
  const std::size_t num_words = words_for_bits(last);
  for (std::size_t q = 0; q < pixels.count; ++q) {
    int count = 0;
    for (std::size_t k = 0; k < digit.num_planes(); ++k) {
      const std::span words(pixels.words + q * pixels.stride + digit.planes[k] * pixels.plane_words,
                            num_words);
      for (std::size_t c = first; c < last; c += 64) {
        count += digit.multiples[k] * std::popcount(bits_between(words, c, std::min(c + 64, last)));
      }
    }
    ones[q] = static_cast<std::uint16_t>(count);
  }
}

/// The same for all channels, of which there are up to 64.
inline void CountOneWord(const Pixels& pixels, const numerics::Digit& digit,
                         std::uint16_t* HWY_RESTRICT ones) {
  const std::uint64_t* HWY_RESTRICT first = pixels.words + digit.planes[0];
  const std::uint64_t* HWY_RESTRICT second = pixels.words + digit.planes[1];
  const std::size_t stride = pixels.stride;
  if (digit.num_planes() == 1) {
    for (std::size_t q = 0; q < pixels.count; ++q) {
      ones[q] = static_cast<std::uint16_t>(std::popcount(first[q * stride]));
    }
    return;
  }
  const auto [m, n] = digit.multiples;
  for (std::size_t q = 0; q < pixels.count; ++q) {
    const int count = m * std::popcount(first[q * stride]) + n * std::popcount(second[q * stride]);
    ones[q] = static_cast<std::uint16_t>(count);
  }
}

/// The sums of the windows along a row.
inline void SumOnes(const ConvAxis& axis, const std::uint16_t* HWY_RESTRICT row_ones,
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

/// A part of a row of the strip, which lies in a row of pixels: [first, last), before and behind is
/// padding.
struct RowPart {
  std::size_t row;
  std::size_t first;
  std::size_t last;
};

/// The sums of m over the set bits of the windows along a row, for each digit.
inline void CountRow(const BitConvWeights& w, std::size_t group, const Pixels& pixels,
                     const RowPart& part, const StripMemory& memory) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t channels = w.shape().group_channels();
  const std::size_t strip_rows = w.strip().slices * w.strip().rows;
  std::uint16_t* const ones = memory.row_ones;
  std::fill_n(ones, part.first, std::uint16_t{0});
  std::fill(ones + part.last, ones + w.strip().width, std::uint16_t{0});
  for (std::size_t d = 0; d < w.digits().size(); ++d) {
    const numerics::Digit& digit = w.digits()[d];
    if (pixels.count == 0) {
      // The row is outside the image: there are no words.
    } else if (w.shape().groups == 1 && pixels.plane_words == 1) {
      CountOneWord(pixels, digit, ones + part.first);
    } else {
      CountOnes(pixels, digit, group * channels, (group + 1) * channels, ones + part.first);
    }
    SumOnes(axis, ones, memory.ones + (d * strip_rows + part.row) * axis.output);
  }
}

/// One row of pixels of all digits.
/// @param x    pixels of the row, [input, Kx, words]; null: the row is outside the image
/// @param row  of the strip
inline void FillRow(const BitConvWeights& w, std::size_t group, const std::uint64_t* x,
                    std::size_t row, const StripMemory& memory) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t width = w.strip().width;
  const std::size_t words = words_for_bits(w.shape().channels);
  const std::size_t first = std::min(axis.pad_before, width);
  const std::size_t last = x == nullptr ? first : std::min(axis.pad_before + axis.input, width);
  const Pixels pixels{x, w.x_bits() * words, words, last - first};
  for (std::size_t d = 0; d < w.digits().size(); ++d) {
    const numerics::Digit& digit = w.digits()[d];
    const std::size_t pixel_positions = w.num_positions() * w.tap_pieces();
    std::uint16_t* to = memory.positions + w.digit_positions(d) + row * width * pixel_positions;
    std::fill_n(to, first * pixel_positions, std::uint16_t{0});
    if (pixels.count != 0) FillDigit(w, group, pixels, digit, to + first * pixel_positions);
    std::fill(to + last * pixel_positions, to + width * pixel_positions, std::uint16_t{0});
  }
  if (w.has_offset()) CountRow(w, group, pixels, {row, first, last}, memory);
}

/// The pixels that output lines [y, y + lines) of a plane see.
inline void FillStrip(const std::uint64_t* x, const BitConvWeights& w, std::size_t group,
                      const ConvLine& line, std::size_t lines, const StripMemory& memory) {
  const std::size_t pixel_words = w.x_bits() * words_for_bits(w.shape().channels);
  for_each_strip_row(w.shape(), w.strip(), line, lines,
                     [&](std::size_t row, bool inside, std::size_t first) {
                       const std::uint64_t* pixels = inside ? x + first * pixel_words : nullptr;
                       FillRow(w, group, pixels, row, memory);
                     });
}

/// sum_d u_d S_d of the windows of a line.
/// @param row  of the strip where they begin
inline void SumRows(const BitConvWeights& w, const StripMemory& memory, std::size_t row) {
  const auto& [az, ay, ax] = w.shape().axes;
  const std::size_t pixels = ax.output;
  const std::size_t strip_rows = w.strip().slices * w.strip().rows;
  std::uint16_t* HWY_RESTRICT counts = memory.window_ones;
  float* HWY_RESTRICT sums = memory.row_sums;
  std::fill_n(sums, pixels, 0.0F);
  for (std::size_t d = 0; d < w.digits().size(); ++d) {
    const numerics::Digit& digit = w.digits()[d];
    const auto zero = digit.reach() * static_cast<std::int32_t>(w.shape().inputs());
    std::fill_n(counts, pixels, std::uint16_t{0});
    for (std::size_t kz = 0; kz < az.kernel; ++kz) {
      for (std::size_t ky = 0; ky < ay.kernel; ++ky) {
        const std::size_t at = kz * az.dilation * w.strip().rows + row + ky * ay.dilation;
        const std::uint16_t* HWY_RESTRICT ones = memory.ones + (d * strip_rows + at) * pixels;
        for (std::size_t x = 0; x < pixels; ++x) {
          counts[x] = static_cast<std::uint16_t>(counts[x] + ones[x]);
        }
      }
    }
    for (std::size_t x = 0; x < pixels; ++x) {
      sums[x] += digit.unit * static_cast<float>(2 * std::int32_t{counts[x]} - zero);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
