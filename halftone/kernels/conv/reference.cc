// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>
#include <optional>

#include "halftone/base/elementary.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/float_conv.h"

namespace halftone::kernels {
namespace {

/// Calls visit(output pixel, pattern, inputs) for each pixel; inputs [taps] are the input pixels,
/// in all images, that its taps read, or kOutside.
constexpr std::size_t kOutside = ~std::size_t{0};
template <typename Visit>
void for_each_pixel(const ConvShape& shape, const PaddingPatterns& patterns, const Visit& visit) {
  const auto& [az, ay, ax] = shape.axes;
  std::vector<std::size_t> inputs(shape.taps());
  for (std::size_t pixel = 0; pixel < shape.num_pixels(); ++pixel) {
    const ConvLine line = line_at(shape, pixel / ax.output);
    const std::size_t x = pixel % ax.output;
    const std::size_t pattern = patterns.of(line.z, line.y, x);
    const std::vector<bool> outside = patterns.outside(pattern);
    for (std::size_t tap = 0; tap < inputs.size(); ++tap) {
      const auto input = [](const ConvAxis& axis, std::size_t at, std::size_t k) {
        return at * axis.stride + k * axis.dilation - axis.pad_before;
      };
      const std::size_t ix = input(ax, x, tap % ax.kernel);
      const std::size_t iy = input(ay, line.y, tap / ax.kernel % ay.kernel);
      const std::size_t iz = input(az, line.z, tap / ax.kernel / ay.kernel);
      inputs[tap] =
          outside[tap] ? kOutside : ((line.image * az.input + iz) * ay.input + iy) * ax.input + ix;
    }
    visit(pixel, pattern, inputs);
  }
}

float finished(float sum, const ConvFinish& finish, std::size_t pixel, std::size_t output) {
  if (finish.residual.rows() != 0) sum += finish.residual(pixel, output);
  return finish.clamps() ? std::min(std::max(sum, finish.low), finish.high) : sum;
}

/// The codes of the window of a pixel for one group, zero outside: [1, inputs of an output].
numerics::BitPlanes window_codes(const ConvShape& shape, const numerics::BitPlanes& x,
                                 std::span<const std::size_t> inputs, std::size_t group) {
  const std::size_t channels = shape.group_channels();
  numerics::BitPlanes window(1, shape.inputs(), x.bits);
  for (std::size_t tap = 0; tap < inputs.size(); ++tap) {
    for (std::size_t c = 0; c < channels && inputs[tap] != kOutside; ++c) {
      window.set_code(0, tap * channels + c, x.code(inputs[tap], group * channels + c));
    }
  }
  return window;
}

/// The dot product of two rows of bits as -1 and +1.
float dot(const BitMatrix& a, std::size_t a_row, const BitMatrix& b, std::size_t b_row) {
  std::int64_t sum = 0;
  for (std::size_t c = 0; c < a.cols(); ++c) sum += a.test(a_row, c) == b.test(b_row, c) ? 1 : -1;
  return static_cast<float>(sum);
}

float plane_sum(const BitMatrix& a, std::size_t row) {
  return static_cast<float>(2 * static_cast<std::int64_t>(a.count(row)) -
                            static_cast<std::int64_t>(a.cols()));
}

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

void bit_conv_reference(const ConvShape& shape, const EncodedInputs& x,
                        const EncodedWeights& weights, const ConvFinish& finish,
                        MatrixView<float> y) {
  const numerics::BitPlanes& w = weights.codes;
  const bool has_offset = !weights.encoding.is_centred();
  const std::span<const float> bias = weights.bias;
  const PaddingPatterns patterns(shape);
  const std::vector<numerics::Digit> digits = numerics::split_digits(x.basis, shape.inputs());
  std::vector<double> bases(patterns.count());
  for (std::size_t o = 0; o < shape.outputs; ++o) {
    const numerics::Basis w_basis = weights.encoding.basis(o, 0, w.cols);
    padded_bases(patterns, tap_sums(shape, w, o, w_basis),
                 {bias.empty() ? 0 : bias[o], x.basis.offset, x.basis.value(0)}, bases);
    for_each_pixel(shape, patterns, [&](std::size_t pixel, std::size_t pattern, const auto& taps) {
      const auto window = window_codes(shape, x.codes, taps, o / shape.group_outputs());
      auto acc = static_cast<float>(bases[pattern]);
      float row_sum = 0;
      for (const numerics::Digit& digit : digits) {
        const auto sum_planes = [&](const auto& number_of) {
          float sum = 0;
          for (std::size_t k = 0; k < digit.num_planes(); ++k) {
            sum += static_cast<float>(digit.multiples[k]) * number_of(digit.planes[k]);
          }
          return sum;
        };
        for (int j = 0; j < w.bits; ++j) {
          const float a = digit.unit * w_basis.a()[static_cast<std::size_t>(j)];
          acc += a * sum_planes([&](std::size_t i) {
                   return dot(window.planes, i, w.planes, w.plane(o, j));
                 });
        }
        row_sum +=
            digit.unit * sum_planes([&](std::size_t i) { return plane_sum(window.planes, i); });
      }
      if (has_offset) acc += w_basis.offset * row_sum;
      y(pixel, o) = finished(acc, finish, pixel, o);
    });
  }
}

void depthwise_conv_reference(const ConvShape& shape, const Int8Pixels& x,
                              const EncodedWeights& weights, const ConvFinish& finish,
                              MatrixView<float> y) {
  const std::span<const float> bias = weights.bias;
  const PaddingPatterns patterns(shape);
  std::vector<double> bases(patterns.count());
  std::vector<double> sums(shape.taps());
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const DepthwiseChannel channel(weights.codes, weights.encoding, c);
    for (std::size_t tap = 0; tap < sums.size(); ++tap) {
      sums[tap] = static_cast<double>(channel.scale) * channel.i[tap];
    }
    padded_bases(patterns, sums, {bias.empty() ? 0 : bias[c], x.offset, x.offset}, bases);
    for_each_pixel(shape, patterns, [&](std::size_t pixel, std::size_t pattern, const auto& taps) {
      std::int32_t sum = 0;
      for (std::size_t tap = 0; tap < taps.size(); ++tap) {
        if (taps[tap] != kOutside) sum += channel.i[tap] * x.q[taps[tap] * shape.channels + c];
      }
      const float acc =
          static_cast<float>(bases[pattern]) + (channel.scale * x.scale) * static_cast<float>(sum);
      y(pixel, c) = finished(acc, finish, pixel, c);
    });
  }
}

void integer_conv_reference(const ConvShape& shape, const std::int8_t* q, std::int32_t x_zero,
                            const IntegerWeights& weights, MatrixView<std::int32_t> y) {
  const std::size_t channels = shape.group_channels();
  const auto visit = [&](std::size_t pixel, std::size_t, std::span<const std::size_t> inputs) {
    for (std::size_t o = 0; o < shape.outputs; ++o) {
      std::int64_t sum = weights.bias_of(o);
      for (std::size_t tap = 0; tap < inputs.size(); ++tap) {
        if (inputs[tap] == kOutside) continue;
        const std::int8_t* x =
            q + inputs[tap] * shape.channels + o / shape.group_outputs() * channels;
        for (std::size_t c = 0; c < channels; ++c) {
          const int w = weights.code((o * inputs.size() + tap) * channels + c) - weights.zeros[o];
          sum += w * (x[c] - x_zero);
        }
      }
      y(pixel, o) = static_cast<std::int32_t>(sum);
    }
  };
  for_each_pixel(shape, PaddingPatterns(shape), visit);
}

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
