// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>

#include "halftone/kernels/conv/float_conv_transpose.h"

namespace halftone::kernels {
namespace {

/// The output that a tap of an input writes along an axis; none outside the image.
std::optional<std::size_t> output_at(const ConvAxis& axis, std::size_t input, std::size_t tap) {
  const std::size_t padded = input * axis.stride + tap * axis.dilation;
  if (padded < axis.pad_before || padded - axis.pad_before >= axis.output) return std::nullopt;
  return padded - axis.pad_before;
}

/// The output pixel of its image that a tap of an input pixel writes; none outside the image.
std::optional<std::size_t> output_pixel(const ConvShape& shape, std::size_t input,
                                        std::size_t tap) {
  const auto& [az, ay, ax] = shape.axes;
  const auto z = output_at(az, input / ax.input / ay.input, tap / ax.kernel / ay.kernel);
  const auto y = output_at(ay, input / ax.input % ay.input, tap / ax.kernel % ay.kernel);
  const auto x = output_at(ax, input % ax.input, tap % ax.kernel);
  if (!z || !y || !x) return std::nullopt;
  return (*z * ay.output + *y) * ax.output + *x;
}

}  // namespace

void float_conv_transpose_reference(const ConvShape& shape, std::span<const float> x,
                                    std::span<const float> w, std::span<const float> bias,
                                    MatrixView<float> y) noexcept {
  const std::size_t channels = shape.group_channels();
  const std::size_t output_pixels = shape.num_pixels() / std::max<std::size_t>(shape.images, 1);
  for (std::size_t p = 0; p < y.rows(); ++p) {
    for (std::size_t o = 0; o < shape.outputs; ++o) y(p, o) = bias.empty() ? 0.0F : bias[o];
  }
  for (std::size_t q = 0; q < shape.images * shape.image_input_pixels(); ++q) {
    const std::size_t image = q / shape.image_input_pixels();
    for (std::size_t t = 0; t < shape.taps(); ++t) {
      const auto pixel = output_pixel(shape, q % shape.image_input_pixels(), t);
      if (!pixel) continue;
      for (std::size_t o = 0; o < shape.outputs; ++o) {
        const std::size_t first = q * shape.channels + o / shape.group_outputs() * channels;
        float sum = 0;
        for (std::size_t c = 0; c < channels; ++c) {
          sum += x[first + c] * w[(o * shape.taps() + t) * channels + c];
        }
        y(image * output_pixels + *pixel, o) += sum;
      }
    }
  }
}

}  // namespace halftone::kernels
