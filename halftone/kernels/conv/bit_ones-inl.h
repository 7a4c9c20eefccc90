// SPDX-License-Identifier: Apache-2.0
// The scratch memory of bit_conv(), and the sums of digits over windows.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BIT_ONES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BIT_ONES_INL_H_
#undef HALFTONE_KERNELS_CONV_BIT_ONES_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BIT_ONES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <bit>
#include <cstdint>

#include "halftone/base/bits.h"
#include "halftone/kernels/conv/bit_conv.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Where the strip of a call lies in its scratch memory.
struct StripMemory {
  std::byte* pixels;           ///< of all digits; see BitConvWeights::digit_bytes
  std::uint16_t* row_ones;     ///< [width] sums of m over the set bits of the pixels of a row
  float* row_sums;             ///< [line_pixels] see SumRows
  std::uint16_t* window_ones;  ///< [line_pixels] the same of the windows of a line
  std::uint16_t* ones;         ///< [digits, slices rows, line_pixels] of a row of these windows
};

inline StripMemory Divide(const BitConvWeights& w, std::byte* scratch) {
  const std::size_t pixels = w.shape().line_pixels();
  if (!w.has_offset()) return {scratch, nullptr, nullptr, nullptr, nullptr};
  auto* const row_sums = reinterpret_cast<float*>(scratch + w.digit_bytes(w.digits().size()));
  auto* const window_ones = reinterpret_cast<std::uint16_t*>(row_sums + pixels);
  std::uint16_t* const row_ones = window_ones + pixels;
  return {scratch, row_ones, row_sums, window_ones, row_ones + w.strip().width};
}

/// Pixels of a row, all channels and planes of each.
struct Pixels {
  const std::uint64_t* words;  ///< of plane 0
  std::size_t stride;          ///< in words, from a pixel to the next
  std::size_t plane_words;     ///< from a plane of a pixel to the next
  std::size_t count;
};

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
