// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/gather.h"

#include <cstring>

namespace halftone::kernels {
namespace {

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
