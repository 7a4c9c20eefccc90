// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/float_conv.h"

namespace halftone::kernels {
namespace {

/// The pixel that a tap of an output pixel reads, or null outside the image.
const float* pixel_at(const ConvShape& shape, std::span<const float> x, std::size_t pixel,
                      std::size_t tap) {
  const auto& [az, ay, ax] = shape.axes;
  const ConvLine line = line_at(shape, pixel / ax.output);
  const std::size_t column = pixel % ax.output * ax.stride + tap % ax.kernel * ax.dilation;
  const std::size_t row = line.y * ay.stride + tap / ax.kernel % ay.kernel * ay.dilation;
  const std::size_t slice = line.z * az.stride + tap / ax.kernel / ay.kernel * az.dilation;
  const std::size_t z = input_at(az, slice);
  const std::size_t y = input_at(ay, row);
  const std::size_t c = input_at(ax, column);
  if (z == az.input || y == ay.input || c == ax.input) return nullptr;
  return x.data() + (((line.image * az.input + z) * ay.input + y) * ax.input + c) * shape.channels;
}

}  // namespace

void float_conv_reference(const ConvShape& shape, std::span<const float> x,
                          std::span<const float> w, std::span<const float> bias,
                          MatrixView<float> y) noexcept {
  const std::size_t channels = shape.group_channels();
  for (std::size_t p = 0; p < y.rows(); ++p) {
    for (std::size_t o = 0; o < shape.outputs; ++o) {
      float sum = bias.empty() ? 0.0F : bias[o];
      for (std::size_t t = 0; t < shape.taps(); ++t) {
        const float* pixel = pixel_at(shape, x, p, t);
        for (std::size_t c = 0; c < channels; ++c) {
          const float input =
              pixel == nullptr ? 0.0F : pixel[o / shape.group_outputs() * channels + c];
          sum += input * w[(o * shape.taps() + t) * channels + c];
        }
      }
      y(p, o) = sum;
    }
  }
}

}  // namespace halftone::kernels
