// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/conv_strip.h"

#include <algorithm>

namespace halftone::kernels {
namespace {

/// The number of inputs that `outputs` neighbouring outputs of an axis read.
std::size_t seen(const ConvAxis& axis, std::size_t outputs) {
  return outputs == 0 ? 0 : (outputs - 1) * axis.stride + (axis.kernel - 1) * axis.dilation + 1;
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

}  // namespace halftone::kernels
