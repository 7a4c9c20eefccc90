// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include "halftone/base/elementary.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/conv/float_pool.h"

namespace halftone::kernels {
namespace {

/// A window of one channel, tap by tap.
struct WindowOfChannel {
  float largest = -std::numeric_limits<float>::infinity();
  double sum = 0;
  std::size_t inside = 0;

  void add(float x) {
    largest = elementary::larger(largest, x);
    sum += static_cast<double>(x);
    ++inside;
  }
};

}  // namespace

void float_pool_reference(const float* x, const FloatPool& pool, MatrixView<float> y) noexcept {
  const ConvShape& shape = pool.shape;
  const auto& [az, ay, ax] = shape.axes;
  for (std::size_t i = 0; i < y.rows() * shape.channels; ++i) {
    const std::size_t pixel = i / shape.channels;
    const std::size_t c = i % shape.channels;
    const ConvLine line = line_at(shape, pixel / ax.output);
    WindowOfChannel window;
    for (std::size_t t = 0; t < shape.taps(); ++t) {
      const std::size_t slice = line.z * az.stride + t / ax.kernel / ay.kernel * az.dilation;
      const std::size_t row = line.y * ay.stride + t / ax.kernel % ay.kernel * ay.dilation;
      const std::size_t column = pixel % ax.output * ax.stride + t % ax.kernel * ax.dilation;
      const std::size_t qz = input_at(az, slice);
      const std::size_t qy = input_at(ay, row);
      const std::size_t qx = input_at(ax, column);
      if (qz == az.input || qy == ay.input || qx == ax.input) continue;
      const std::size_t q = ((line.image * az.input + qz) * ay.input + qy) * ax.input + qx;
      window.add(x[q * shape.channels + c]);
    }
    const std::size_t counted = pool.counts_padding ? shape.taps() : window.inside;
    const double mean = window.sum / static_cast<double>(std::max<std::size_t>(counted, 1));
    y(pixel, c) = pool.is_max ? window.largest : static_cast<float>(mean);
  }
}

}  // namespace halftone::kernels
