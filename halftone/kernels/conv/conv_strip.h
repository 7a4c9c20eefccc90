// SPDX-License-Identifier: Apache-2.0
// The part of an image that some output lines read, copied with its padding, so that each tap has
// the same offset from the first pixel of its window; and windows as rows of a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_shape.h"

namespace halftone::kernels {

/// [slices, rows, width] pixels, of which `lines` output lines of a plane see all.
struct ConvStrip {
  std::size_t lines = 0;
  std::size_t slices = 0;
  std::size_t rows = 0;
  std::size_t width = 0;

  [[nodiscard]] std::size_t pixels() const { return slices * rows * width; }
};

/// The size of a strip that fits the caches together with weights of a few bits.
inline constexpr std::size_t kStripBytes = std::size_t{1} << 16;

/// A strip of at most a size, or a strip of one line.
/// @param pixel_bytes  bytes per pixel
ConvStrip plan_strip(const ConvShape& shape, std::size_t pixel_bytes,
                     std::size_t max_bytes = kStripBytes);

/// The offsets of the pieces of each tap in a strip, relative to the first pixel of a window.
/// @return [taps, tap_pieces]
std::vector<std::uint32_t> piece_positions(const ConvShape& shape, const ConvStrip& strip,
                                           std::size_t tap_pieces);

/// The input index of a position in the padded input; `axis.input` in the padding.
inline std::size_t input_at(const ConvAxis& axis, std::size_t padded) {
  const bool inside = padded >= axis.pad_before && padded - axis.pad_before < axis.input;
  return inside ? padded - axis.pad_before : axis.input;
}

/// Calls fill(row of the strip, whether it is inside the image, its first input pixel) for
/// each row that `lines` lines from `line` on read.
template <typename Fill>
void for_each_strip_row(const ConvShape& shape, const ConvStrip& strip, const ConvLine& line,
                        std::size_t lines, const Fill& fill) {
  const auto& [az, ay, ax] = shape.axes;
  const std::size_t rows = (lines - 1) * ay.stride + (ay.kernel - 1) * ay.dilation + 1;
  for (std::size_t s = 0; s < strip.slices; ++s) {
    const std::size_t z = input_at(az, line.z * az.stride + s);
    for (std::size_t r = 0; r < rows; ++r) {
      const std::size_t y = input_at(ay, line.y * ay.stride + r);
      const bool inside = z != az.input && y != ay.input;
      const std::size_t first = ((line.image * az.input + z) * ay.input + y) * ax.input;
      fill(s * strip.rows + r, inside, first);
    }
  }
}

/// Pixels [first, first + count) of an output line.
struct PixelRange {
  std::size_t line = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

/// rows[p, tap channels + c] = x[the pixel that tap reads, first channel of the group + c], 0
/// outside the image.
/// @param x     [images, pixels, channels]
/// @param rows  [pixels.count, inputs of an output], contiguous
void gather_windows(const ConvShape& shape, const std::int8_t* x, std::size_t group,
                    const PixelRange& pixels, MatrixView<std::int8_t> rows) noexcept;

}  // namespace halftone::kernels
