// SPDX-License-Identifier: Apache-2.0
// The strip of pixels that byte_conv() multiplies, and the sums of its windows.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_BYTE_STRIP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_BYTE_STRIP_INL_H_
#undef HALFTONE_KERNELS_CONV_BYTE_STRIP_INL_H_
#else
#define HALFTONE_KERNELS_CONV_BYTE_STRIP_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "halftone/kernels/conv/byte_conv.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The parts of the strip in the scratch memory of a call.
struct ByteStrip {
  const std::int8_t* pixels;  ///< [pixels of the strip, pieces of a tap, 4]
  std::int32_t* window_sums;  ///< [sections, line_pixels] of the windows of a line
  std::int32_t* pixel_sums;   ///< [width] of the pixels of a row
  std::int32_t* row_sums;     ///< [slices rows, line_pixels] of a row of these windows
  std::int32_t* span_sums;    ///< in place of both, with several sections: [pixels, spans of a tap]
};

inline ByteStrip DivideStrip(const ByteConvLevels& w, std::byte* scratch) {
  const std::size_t bytes = w.strip().pixels() * w.tap_pieces() * ByteConvLevels::kPieceBytes;
  auto* const sums = reinterpret_cast<std::int32_t*>(scratch + AlignedBuffer::rounded_up(bytes));
  std::int32_t* const others = sums + w.sections() * w.shape().line_pixels();
  return {reinterpret_cast<std::int8_t*>(scratch), sums, others, others + w.strip().width, others};
}

#if HWY_TARGET != HWY_SCALAR

/// Sums of 8 neighbouring bytes: those of `count` bytes from q on, in whole vectors.
/// @return the number of sums
HWY_INLINE std::size_t SumEights(const std::int8_t* HWY_RESTRICT q, std::size_t count,
                                 std::int32_t* HWY_RESTRICT sums) {
  const hn::CappedTag<std::uint8_t, 64> d;
  const hn::Repartition<std::uint64_t, decltype(d)> d64;
  const hn::Rebind<std::uint32_t, decltype(d64)> d32;
  const hn::RebindToSigned<decltype(d32)> di;
  const auto middle = hn::Set(d, std::uint8_t{128});
  const auto added = hn::Set(di, 8 * 128);
  std::size_t eight = 0;
  for (; eight * 8 + hn::Lanes(d) <= count; eight += hn::Lanes(d64)) {
    const auto bytes = hn::LoadU(d, reinterpret_cast<const std::uint8_t*>(q) + eight * 8);
    const auto wide = hn::SumsOf8(hn::Xor(bytes, middle));
    const auto narrow = hn::BitCast(di, hn::TruncateTo(d32, wide));
    hn::StoreU(hn::Sub(narrow, added), di, sums + eight);
  }
  return eight;
}

#endif

/// The sum of each pixel.
/// @param stride  from a pixel to the next
HWY_INLINE void SumPixels(const std::int8_t* HWY_RESTRICT q, std::size_t stride, std::size_t count,
                          std::size_t channels, std::int32_t* HWY_RESTRICT sums) {
  std::size_t x = 0;
#if HWY_TARGET != HWY_SCALAR
  constexpr std::size_t kEights = 256;
  const hn::CappedTag<std::int32_t, 16> d;
  alignas(64) std::int32_t parts[kEights + hn::MaxLanes(d)];
  std::size_t eights = channels / 8;
  const bool halves = stride == channels && channels % 8 == 0 && (eights & (eights - 1)) == 0;
  while (halves && eights <= kEights && x < count) {
    const std::size_t pixels = std::min(kEights / eights, count - x);
    std::size_t left = SumEights(q + x * stride, pixels * channels, parts);
    const std::size_t whole = left / eights;
    if (whole == 0) break;
    for (std::size_t of_pixel = eights; of_pixel > 1; of_pixel /= 2, left /= 2) {
      for (std::size_t i = 0; 2 * i < left; i += hn::Lanes(d)) {
        hn::Vec<decltype(d)> even;
        hn::Vec<decltype(d)> odd;
        hn::LoadInterleaved2(d, parts + 2 * i, even, odd);
        hn::StoreU(hn::Add(even, odd), d, parts + i);
      }
    }
    std::copy_n(parts, whole, sums + x);
    x += whole;
  }
#endif
  for (; x < count; ++x) {
    sums[x] = 0;
    for (std::size_t c = 0; c < channels; ++c) sums[x] += q[x * stride + c];
  }
}

/// to[x] += from[stride x].
HWY_INLINE void AddStrided(const std::int32_t* HWY_RESTRICT from, std::size_t stride,
                           std::size_t count, std::int32_t* HWY_RESTRICT to) {
  if (stride == 1) {
    for (std::size_t x = 0; x < count; ++x) to[x] += from[x];
  } else {
    for (std::size_t x = 0; x < count; ++x) to[x] += from[x * stride];
  }
}

/// Copies pixels of one to three bytes to pixels of four, with zeroes. @return how many
HWY_INLINE std::size_t CopyNarrowPixels([[maybe_unused]] const std::int8_t* HWY_RESTRICT q,
                                        [[maybe_unused]] std::size_t count,
                                        [[maybe_unused]] std::size_t channels,
                                        [[maybe_unused]] std::int8_t* HWY_RESTRICT to) {
#if HWY_TARGET == HWY_SCALAR
  return 0;
#else
  const hn::Full128<std::uint8_t> d;
  const auto zero = hn::Zero(d);
  const auto* from = reinterpret_cast<const std::uint8_t*>(q);
  auto* pixels = reinterpret_cast<std::uint8_t*>(to);
  const std::size_t whole = count - count % 16;
  for (std::size_t x = 0; x < whole; x += 16) {
    auto a = zero;
    auto b = zero;
    auto c = zero;
    if (channels == 1) a = hn::LoadU(d, from + x);
    if (channels == 2) hn::LoadInterleaved2(d, from + 2 * x, a, b);
    if (channels == 3) hn::LoadInterleaved3(d, from + 3 * x, a, b, c);
    hn::StoreInterleaved4(a, b, c, zero, d, pixels + 4 * x);
  }
  return whole;
#endif
}

/// Copies pixels of `channels` numbers, widened, with zeroes up to `row` numbers in each.
/// @param stride  from a pixel to the next
template <typename T>
void CopyPixels(const std::int8_t* HWY_RESTRICT q, std::size_t stride, std::size_t count,
                std::size_t channels, std::size_t row, T* HWY_RESTRICT to) {
  if (stride == row) {
    channels = row *= count;
    count = 1;
  }
  if constexpr (sizeof(T) == 1) {
    if (row == 4 && channels < 4 && stride == channels) {
      const std::size_t done = CopyNarrowPixels(q, count, channels, to);
      q += done * stride;
      to += done * row;
      count -= done;
    }
  }
  for (std::size_t x = 0; x < count; ++x, q += stride, to += row) {
    for (std::size_t c = 0; c < channels; ++c) to[c] = q[c];
    std::fill(to + channels, to + row, T{0});
  }
}

/// The bytes of a padded row, and of the next three pixels, for each pixel; see joins_taps().
/// @param q       of the first pixel inside
/// @param inside  pixels of the row that are inside the image
inline void CopyJoinedRow(const std::int8_t* q, std::size_t stride, TapRange inside,
                          std::size_t width, std::int8_t* to) {
  constexpr std::size_t kChunk = 256;
  constexpr std::size_t kNext = 3;
  std::int8_t some[kChunk + 2 * 16] = {};
  for (std::size_t x = 0; x < width; x += kChunk, to += kChunk * ByteConvLevels::kPieceBytes) {
    const std::size_t count = std::min(kChunk, width - x);
    std::fill_n(some, count + kNext, std::int8_t{0});
    const std::size_t end = std::min(inside.end, x + count + kNext);
    for (std::size_t at = std::max(inside.begin, x); at < end; ++at) {
      some[at - x] = q[(at - inside.begin) * stride];
    }
    std::size_t i = 0;
#if HWY_TARGET != HWY_SCALAR
    const hn::Full128<std::int8_t> d;
    for (; i + 16 <= count; i += 16) {
      hn::StoreInterleaved4(hn::LoadU(d, some + i), hn::LoadU(d, some + i + 1),
                            hn::LoadU(d, some + i + 2), hn::LoadU(d, some + i + kNext), d,
                            to + i * ByteConvLevels::kPieceBytes);
    }
#endif
    for (; i < count; ++i) std::copy_n(some + i, kNext + 1, to + i * ByteConvLevels::kPieceBytes);
  }
}

/// Copies a row of pixels to the strip.
/// @param q  of the first pixel of the row, from the first channel of the group on; null: outside
inline void CopyByteRow(const ByteConvLevels& w, const std::int8_t* q, std::size_t row,
                        std::int8_t* strip) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t width = w.strip().width;
  const std::size_t pixel_bytes = w.tap_pieces() * ByteConvLevels::kPieceBytes;
  std::int8_t* to = strip + row * width * pixel_bytes;
  if (q == nullptr) {
    std::memset(to, 0, width * pixel_bytes);
    return;
  }
  const std::size_t first = std::min(axis.pad_before, width);
  const std::size_t last = std::min(axis.pad_before + axis.input, width);
  if (w.joins_taps()) {
    return CopyJoinedRow(q, w.shape().channels, {first, last}, width, to);
  }
  std::memset(to, 0, first * pixel_bytes);
  std::memset(to + last * pixel_bytes, 0, (width - last) * pixel_bytes);
  const std::size_t stride = w.shape().channels;
  const std::size_t channels = w.shape().group_channels();
  std::int8_t* const inside = to + first * pixel_bytes;
  if (w.layout() != ByteLayout::kShorts) {
    CopyPixels(q, stride, last - first, channels, pixel_bytes, inside);
  } else {
    CopyPixels(q, stride, last - first, channels, pixel_bytes / sizeof(std::int16_t),
               reinterpret_cast<std::int16_t*>(inside));
  }
}

/// The sums of the windows along a row. Arguments as of CopyByteRow().
inline void SumByteRow(const ByteConvLevels& w, const std::int8_t* q, std::size_t row,
                       const ByteStrip& strip) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t width = w.strip().width;
  std::int32_t* HWY_RESTRICT windows = strip.row_sums + row * axis.output;
  std::fill_n(windows, axis.output, 0);
  if (q == nullptr) return;
  const std::size_t first = std::min(axis.pad_before, width);
  const std::size_t last = std::min(axis.pad_before + axis.input, width);
  std::fill_n(strip.pixel_sums, width, 0);
  SumPixels(q, w.shape().channels, last - first, w.shape().group_channels(),
            strip.pixel_sums + first);
  for (std::size_t k = 0; k < axis.kernel; ++k) {
    AddStrided(strip.pixel_sums + k * axis.dilation, axis.stride, axis.output, windows);
  }
}

/// The sums of the spans of all pixels that `lines` lines read, of weights in several sections.
inline void SumSpans(const ByteConvLevels& w, const ByteStrip& strip, std::size_t lines) {
  const ConvAxis& axis = w.shape().axes[1];
  const std::size_t rows = (lines - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
  const std::size_t count = rows * w.strip().width * w.tap_spans();
  for (std::size_t slice = 0; slice < w.strip().slices; ++slice) {
    const std::size_t first = slice * w.strip().rows * w.strip().width;
    std::int32_t* HWY_RESTRICT sums = strip.span_sums + first * w.tap_spans();
    const std::int8_t* pixels = strip.pixels + first * w.tap_pieces() * ByteConvLevels::kPieceBytes;
    const std::size_t inputs = w.span_inputs();
    if (w.layout() != ByteLayout::kShorts) {
      SumPixels(pixels, inputs, count, inputs, sums);
      continue;
    }
    const auto* shorts = reinterpret_cast<const std::int16_t*>(pixels);
    for (std::size_t i = 0; i < count; ++i, shorts += inputs) {
      sums[i] = std::accumulate(shorts, shorts + inputs, std::int32_t{0});
    }
  }
}

/// The sums of each section of the windows of a line.
inline void SumSections(const ByteConvLevels& w, const ByteStrip& strip, std::size_t row) {
  const ConvAxis& axis = w.shape().axes[2];
  const std::size_t pieces = w.span_inputs() / w.piece_inputs();
  const std::size_t stride = axis.stride * w.tap_spans();
  const std::int32_t* first = strip.span_sums + row * w.strip().width * w.tap_spans();
  for (std::size_t s = 0; s < w.sections(); ++s) {
    std::int32_t* HWY_RESTRICT sums = strip.window_sums + s * axis.output;
    std::fill_n(sums, axis.output, 0);
    const BlockRange section = w.section(s);
    for (std::size_t p = section.begin; p < section.end; p += pieces) {
      AddStrided(first + w.inputs()[p] / pieces, stride, axis.output, sums);
    }
  }
}

/// The sums of the windows of a line.
inline void SumWindows(const ByteConvLevels& w, const ByteStrip& strip, std::size_t row) {
  const auto& [az, ay, ax] = w.shape().axes;
  std::int32_t* HWY_RESTRICT sums = strip.window_sums;
  std::fill_n(sums, ax.output, 0);
  for (std::size_t kz = 0; kz < az.kernel; ++kz) {
    for (std::size_t ky = 0; ky < ay.kernel; ++ky) {
      const std::size_t at = kz * az.dilation * w.strip().rows + row + ky * ay.dilation;
      AddStrided(strip.row_sums + at * ax.output, 1, ax.output, sums);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
