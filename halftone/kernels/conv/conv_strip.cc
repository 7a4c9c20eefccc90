// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/conv_strip.h"

#include <algorithm>
#include <cstring>

namespace halftone::kernels {
namespace {

/// The number of inputs that `outputs` neighbouring outputs of an axis read.
std::size_t seen(const ConvAxis& axis, std::size_t outputs) {
  return outputs == 0 ? 0 : (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
}

/// An inline memcpy for tens of bytes; the last vector may copy some bytes twice.
void copy_bytes(const std::int8_t* from, std::size_t count, std::int8_t* to) {
  constexpr std::size_t kVector = 16;
  if (count < kVector) {
    for (std::size_t i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (std::size_t i = 0; i + kVector <= count; i += kVector) {
    std::memcpy(to + i, from + i, kVector);
  }
  std::memcpy(to + count - kVector, from + count - kVector, kVector);
}

/// The taps along the last axis of one pixel.
/// @param x   pixels of the input line, from the first channel of the group on
/// @param to  [taps of the axis, channels of the group]
void gather_line(const ConvShape& shape, const std::int8_t* x, std::size_t pixel, TapRange inside,
                 std::int8_t* to) {
  const ConvAxis& axis = shape.axes[2];
  const std::size_t channels = shape.group_channels();
  if (inside.end - inside.begin < axis.kernel) std::memset(to, 0, axis.kernel * channels);
  if (inside.begin == inside.end) return;
  const std::size_t first = pixel * axis.stride + inside.begin * axis.dilation - axis.pad_before;
  const std::int8_t* from = x + first * shape.channels;
  to += inside.begin * channels;
  if (axis.dilation == 1 && shape.groups == 1) {
    return copy_bytes(from, (inside.end - inside.begin) * channels, to);
  }
  for (std::size_t k = inside.begin; k < inside.end; ++k) {
    copy_bytes(from, channels, to);
    from += axis.dilation * shape.channels;
    to += channels;
  }
}

}  // namespace

ConvStrip plan_strip(const ConvShape& shape, std::size_t pixel_bytes, std::size_t max_bytes) {
  const auto& [z, y, x] = shape.axes;
  ConvStrip strip;
  strip.slices = seen(z, 1);
  strip.width = seen(x, x.output);
  const std::size_t row_bytes = strip.slices * strip.width * pixel_bytes;
  const std::size_t max_rows = max_bytes / std::max<std::size_t>(row_bytes, 1);
  const std::size_t least_rows = seen(y, 1);
  strip.lines = max_rows <= least_rows ? 1 : (max_rows - least_rows) / y.stride + 1;
  strip.lines = std::min(strip.lines, std::max<std::size_t>(y.output, 1));
  strip.rows = seen(y, strip.lines);
  return strip;
}

std::vector<std::uint32_t> piece_positions(const ConvShape& shape, const ConvStrip& strip,
                                           std::size_t tap_pieces) {
  const auto& [z, y, x] = shape.axes;
  std::vector<std::uint32_t> positions;
  for (std::size_t tap = 0; tap < shape.taps(); ++tap) {
    const std::size_t slice = tap / x.kernel / y.kernel * z.dilation;
    const std::size_t row = slice * strip.rows + tap / x.kernel % y.kernel * y.dilation;
    const std::size_t pixel = row * strip.width + tap % x.kernel * x.dilation;
    for (std::size_t p = 0; p < tap_pieces; ++p) {
      positions.push_back(static_cast<std::uint32_t>(pixel * tap_pieces + p));
    }
  }
  return positions;
}

void gather_windows(const ConvShape& shape, const std::int8_t* x, std::size_t group,
                    const PixelRange& pixels, MatrixView<std::int8_t> rows) noexcept {
  const auto& [az, ay, ax] = shape.axes;
  const ConvLine line = line_at(shape, pixels.line);
  const TapRange in_z = az.inside(line.z);
  const TapRange in_y = ay.inside(line.y);
  const std::size_t line_bytes = ax.kernel * shape.group_channels();
  for (std::size_t p = 0; p < pixels.count; ++p) {
    const TapRange in_x = ax.inside(pixels.first + p);
    std::int8_t* to = rows.row(p).data();
    for (std::size_t kz = 0; kz < az.kernel; ++kz) {
      for (std::size_t ky = 0; ky < ay.kernel; ++ky, to += line_bytes) {
        const bool inside = kz >= in_z.begin && kz < in_z.end && ky >= in_y.begin && ky < in_y.end;
        if (!inside) {
          std::memset(to, 0, line_bytes);
          continue;
        }
        const std::size_t z = line.z * az.stride + kz * az.dilation - az.pad_before;
        const std::size_t y = line.y * ay.stride + ky * ay.dilation - ay.pad_before;
        const std::size_t first = ((line.image * az.input + z) * ay.input + y) * ax.input;
        gather_line(shape, x + first * shape.channels + group * shape.group_channels(),
                    pixels.first + p, in_x, to);
      }
    }
  }
}

}  // namespace halftone::kernels
