// SPDX-License-Identifier: Apache-2.0
// The pixels that some lines of bit_conv() see, as positions in its shared tables.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BIT_POSITIONS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BIT_POSITIONS_INL_H_
#undef HALFTONE_KERNELS_CONV_BIT_POSITIONS_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BIT_POSITIONS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "halftone/base/bits.h"
#include "halftone/kernels/conv/bit_ones-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

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
      const std::size_t begin = first + BitConvWeights::kTablesInputs * p;
      const std::size_t end = std::min(begin + BitConvWeights::kTablesInputs, last);
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

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
