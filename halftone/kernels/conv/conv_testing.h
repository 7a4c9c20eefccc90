// SPDX-License-Identifier: Apache-2.0
// Helpers for tests and benchmarks of convolutions: shapes, and a plain convolution.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_shape.h"

namespace halftone::kernels {

struct Padding {
  std::size_t before = 0;
  std::size_t after = 0;
};

/// An axis; its output extent follows from the other extents.
inline ConvAxis make_axis(std::size_t input, std::size_t kernel, std::size_t stride = 1,
                          Padding padding = {}, std::size_t dilation = 1) {
  const std::size_t covered = (kernel - 1) * dilation + 1;
  const std::size_t padded = input + padding.before + padding.after;
  const std::size_t output = padded < covered ? 0 : (padded - covered) / stride + 1;
  return {input, output, kernel, stride, dilation, padding.before};
}

/// A square image and kernel, padded so that stride 1 preserves the extents.
inline ConvShape square_shape(std::size_t extent, std::size_t channels, std::size_t outputs,
                              std::size_t kernel, std::size_t stride = 1, std::size_t groups = 1) {
  const ConvAxis axis = make_axis(extent, kernel, stride, {kernel / 2, kernel / 2});
  return {1, {ConvAxis{}, axis, axis}, channels, outputs, groups};
}

inline std::string to_string(const ConvShape& s) {
  std::string text = std::to_string(s.images) + " images";
  for (const ConvAxis& a : s.axes) {
    text += ", " + std::to_string(a.input) + " -> " + std::to_string(a.output) + " kernel " +
            std::to_string(a.kernel) + " stride " + std::to_string(a.stride) + " dilation " +
            std::to_string(a.dilation) + " pad " + std::to_string(a.pad_before);
  }
  return text + ", channels " + std::to_string(s.channels) + " -> " + std::to_string(s.outputs) +
         " in " + std::to_string(s.groups) + " groups";
}

/// The outputs of a float convolution, and for each the sum of the absolute values of its terms.
struct PlainConv {
  std::vector<double> y;
  std::vector<double> sizes;
};

/// @param x     [images, pixels, channels]
/// @param w     [outputs, taps, channels / groups]
/// @param bias  [outputs], or empty
inline PlainConv plain_conv(const ConvShape& s, const std::vector<float>& x,
                            const std::vector<float>& w, const std::vector<float>& bias) {
  const auto& [az, ay, ax] = s.axes;
  PlainConv result;
  for (std::size_t pixel = 0; pixel < s.num_pixels(); ++pixel) {
    const ConvLine line = line_at(s, pixel / ax.output);
    for (std::size_t o = 0; o < s.outputs; ++o) {
      const std::size_t first_channel = o / s.group_outputs() * s.group_channels();
      double sum = bias.empty() ? 0 : bias[o];
      double size = std::abs(sum);
      for (std::size_t tap = 0; tap < s.taps(); ++tap) {
        const std::size_t ix = pixel % ax.output * ax.stride + tap % ax.kernel * ax.dilation;
        const std::size_t iy = line.y * ay.stride + tap / ax.kernel % ay.kernel * ay.dilation;
        const std::size_t iz = line.z * az.stride + tap / ax.kernel / ay.kernel * az.dilation;
        const auto inside = [](const ConvAxis& a, std::size_t at) {
          return at >= a.pad_before && at < a.pad_before + a.input;
        };
        if (!inside(ax, ix) || !inside(ay, iy) || !inside(az, iz)) continue;
        const std::size_t input =
            ((line.image * az.input + iz - az.pad_before) * ay.input + iy - ay.pad_before) *
                ax.input +
            ix - ax.pad_before;
        for (std::size_t c = 0; c < s.group_channels(); ++c) {
          const double term = static_cast<double>(x[input * s.channels + first_channel + c]) *
                              static_cast<double>(w[(o * s.taps() + tap) * s.group_channels() + c]);
          sum += term;
          size += std::abs(term);
        }
      }
      result.y.push_back(sum);
      result.sizes.push_back(size);
    }
  }
  return result;
}

/// The outputs of compute(part), called with `count` lines at a time.
/// @param scratch_bytes  of the weights
template <typename Compute>
std::vector<float> compute_lines(const ConvShape& shape, const ConvFinish& finish,
                                 std::size_t count, std::size_t scratch_bytes,
                                 const Compute& compute) {
  AlignedBuffer scratch(scratch_bytes);
  std::vector<float> y(shape.num_pixels() * shape.outputs, -77.0F);
  const MatrixView<float> all(y, shape.num_pixels(), shape.outputs);
  for (std::size_t first = 0; first < shape.num_lines();) {
    const LineRange lines{first, first + std::min(count, shape.num_lines() - first)};
    const std::size_t row = first * shape.line_pixels();
    const std::size_t rows = lines.count() * shape.line_pixels();
    ConvPart part{lines, finish, scratch.bytes(), all.rows_from(row, rows)};
    if (finish.residual.rows() != 0) part.finish.residual = finish.residual.rows_from(row, rows);
    compute(part);
    first = lines.end;
  }
  return y;
}

/// Strides, dilations, padding on both sides, one to three axes, several images, kernels larger
/// than the image; `channels` and `outputs` are per group.
inline std::vector<ConvShape> shapes_to_test(std::size_t channels, std::size_t outputs) {
  const ConvAxis one{};
  const std::array<std::array<ConvAxis, 3>, 9> axes = {{
      {one, one, make_axis(9, 3, 1, {1, 1})},
      {one, one, make_axis(20, 4, 3, {2, 0}, 2)},
      {one, make_axis(5, 3, 1, {1, 1}), make_axis(6, 3, 1, {1, 1})},
      {one, make_axis(7, 3, 2, {1, 1}), make_axis(8, 3, 2, {0, 1})},
      {one, make_axis(9, 3, 1, {2, 2}, 2), make_axis(8, 2, 1, {0, 3}, 3)},
      {one, make_axis(4, 1), make_axis(19, 1)},
      {one, make_axis(5, 1, 2), make_axis(5, 1, 2)},
      {one, make_axis(2, 5, 1, {4, 4}), make_axis(3, 7, 1, {5, 6})},
      {make_axis(4, 3, 1, {1, 1}), make_axis(3, 2, 1, {0, 1}), make_axis(5, 3, 2, {1, 1})},
  }};
  std::vector<ConvShape> shapes;
  for (const auto& a : axes) {
    for (const std::size_t groups : {1U, 3U}) {
      shapes.push_back({2, a, groups * channels, groups * outputs, groups});
    }
  }
  return shapes;
}

}  // namespace halftone::kernels
