// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/float_conv_transpose.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/dense/float_tiles-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Positions along an axis.
struct Positions {
  std::ptrdiff_t begin;
  std::ptrdiff_t end;
};

/// Signed extents of an axis: positions before its beginning are negative.
struct SignedAxis {
  explicit SignedAxis(const ConvAxis& axis)
      : input(static_cast<std::ptrdiff_t>(axis.input)),
        output(static_cast<std::ptrdiff_t>(axis.output)),
        kernel(static_cast<std::ptrdiff_t>(axis.kernel)),
        stride(static_cast<std::ptrdiff_t>(axis.stride)),
        dilation(static_cast<std::ptrdiff_t>(axis.dilation)),
        pad(static_cast<std::ptrdiff_t>(axis.pad_before)) {}

  /// The output that tap 0 of an input writes.
  [[nodiscard]] std::ptrdiff_t first_output(std::ptrdiff_t at) const { return at * stride - pad; }
  /// The taps of an input that write outputs within a range.
  [[nodiscard]] Positions taps(std::ptrdiff_t at, Positions outputs) const {
    const std::ptrdiff_t first = first_output(at);
    const auto taps_before = [&](std::ptrdiff_t end) {
      if (first + (kernel - 1) * dilation < end) return kernel;
      return first >= end ? 0 : (end - first - 1) / dilation + 1;
    };
    return {taps_before(outputs.begin), taps_before(outputs.end)};
  }
  /// The inputs that may write outputs within a range.
  [[nodiscard]] Positions inputs(Positions outputs) const {
    const std::ptrdiff_t first = outputs.begin + pad - (kernel - 1) * dilation;
    return {std::min(input, first <= 0 ? 0 : (first + stride - 1) / stride),
            std::min(input, (outputs.end - 1 + pad) / stride + 1)};
  }

  std::ptrdiff_t input;
  std::ptrdiff_t output;
  std::ptrdiff_t kernel;
  std::ptrdiff_t stride;
  std::ptrdiff_t dilation;
  std::ptrdiff_t pad;
};

/// Some output pixels of one image.
struct ImagePart {
  const float* x;    ///< the image, [pixels, channels]
  Positions pixels;  ///< which output pixels of the image
  float* y;          ///< [pixels, outputs]
};

/// The input pixels of an image that may reach some output pixels: whole slices along the slowest
/// axis.
Positions ReachingPixels(const ConvShape& shape, Positions pixels) {
  std::size_t a = 0;
  while (a < 2 && shape.axes[a].input == 1 && shape.axes[a].output == 1) ++a;
  std::ptrdiff_t input_slice = 1;
  std::ptrdiff_t output_slice = 1;
  for (std::size_t i = a + 1; i < 3; ++i) {
    input_slice *= static_cast<std::ptrdiff_t>(shape.axes[i].input);
    output_slice *= static_cast<std::ptrdiff_t>(shape.axes[i].output);
  }
  const Positions outputs{pixels.begin / output_slice, (pixels.end - 1) / output_slice + 1};
  const Positions inputs = SignedAxis(shape.axes[a]).inputs(outputs);
  return {inputs.begin * input_slice, inputs.end * input_slice};
}

/// Calls add(first tap, number of taps, first output pixel) for the neighbouring taps of an input
/// pixel that write neighbouring pixels of the part.
template <typename Add>
HWY_INLINE void ForEachRunOfTaps(const ConvShape& shape, std::ptrdiff_t pixel, Positions part,
                                 const Add& add) {
  const SignedAxis az(shape.axes[0]);
  const SignedAxis ay(shape.axes[1]);
  const SignedAxis ax(shape.axes[2]);
  const std::ptrdiff_t line = pixel / ax.input;
  const std::ptrdiff_t x = pixel % ax.input;
  const std::ptrdiff_t y = line % ay.input;
  const std::ptrdiff_t z = line / ay.input;
  const Positions slices = az.taps(z, {0, az.output});
  const Positions rows = ay.taps(y, {0, ay.output});
  for (std::ptrdiff_t i = slices.begin; i < slices.end; ++i) {
    const std::ptrdiff_t slice = az.first_output(z) + i * az.dilation;
    for (std::ptrdiff_t j = rows.begin; j < rows.end; ++j) {
      const std::ptrdiff_t row = slice * ay.output + ay.first_output(y) + j * ay.dilation;
      const std::ptrdiff_t first = row * ax.output;
      const Positions taps =
          ax.taps(x, {std::clamp<std::ptrdiff_t>(part.begin - first, 0, ax.output),
                      std::clamp<std::ptrdiff_t>(part.end - first, 0, ax.output)});
      const std::ptrdiff_t tap = (i * ay.kernel + j) * ax.kernel;
      const std::ptrdiff_t to = first + ax.first_output(x);
      const std::ptrdiff_t step = ax.dilation == 1 ? taps.end - taps.begin : 1;
      for (std::ptrdiff_t k = taps.begin; k < taps.end; k += step) {
        add(tap + k, step, to + k * ax.dilation);
      }
    }
  }
}

/// y += x
HWY_INLINE void AddRow(const float* HWY_RESTRICT x, std::ptrdiff_t count, float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  std::ptrdiff_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::LoadU(d, x + i)), d, y + i);
  }
  for (; i < count; ++i) y[i] += x[i];
}

/// y += 0 + x w: like a sum over channels that starts from 0.
HWY_INLINE void AddProducts(const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
                            std::ptrdiff_t count, float* HWY_RESTRICT y) {
  const hn::ScalableTag<float> d;
  const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d));
  std::ptrdiff_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto product = hn::Mul(hn::LoadU(d, x + i), hn::LoadU(d, w + i));
    hn::StoreU(hn::Add(hn::LoadU(d, y + i), hn::Add(hn::Zero(d), product)), d, y + i);
  }
  for (; i < count; ++i) y[i] += 0.0F + x[i] * w[i];
}

/// Adds the terms of an input pixel to the outputs.
/// @param terms  [groups, taps, outputs / groups]
HWY_INLINE void AddTerms(const ConvShape& shape, std::ptrdiff_t pixel, const float* terms,
                         const ImagePart& part) {
  const auto outputs = static_cast<std::ptrdiff_t>(shape.outputs);
  const auto width = static_cast<std::ptrdiff_t>(shape.group_outputs());
  const auto group_terms = static_cast<std::ptrdiff_t>(shape.taps()) * width;
  ForEachRunOfTaps(shape, pixel, part.pixels,
                   [&](std::ptrdiff_t tap, std::ptrdiff_t taps, std::ptrdiff_t to) HWY_ATTR {
                     float* y = part.y + (to - part.pixels.begin) * outputs;
                     if (shape.groups == 1) return AddRow(terms + tap * width, taps * width, y);
                     for (std::ptrdiff_t i = 0; i < taps; ++i) {
                       const float* from = terms + (tap + i) * width;
                       for (std::ptrdiff_t o = 0; o < outputs; o += width, from += group_terms) {
                         AddRow(from, width, y + i * outputs + o);
                       }
                     }
                   });
}

void AddDepthwise(const FloatConvTransposeWeights& weights, Positions inputs,
                  const ImagePart& part) {
  const ConvShape& shape = weights.shape();
  const auto channels = static_cast<std::ptrdiff_t>(shape.channels);
  for (std::ptrdiff_t q = inputs.begin; q < inputs.end; ++q) {
    const float* x = part.x + q * channels;
    ForEachRunOfTaps(shape, q, part.pixels,
                     [&](std::ptrdiff_t tap, std::ptrdiff_t taps, std::ptrdiff_t to) HWY_ATTR {
                       float* y = part.y + (to - part.pixels.begin) * channels;
                       for (std::ptrdiff_t i = 0; i < taps; ++i) {
                         AddProducts(x, weights.tap(static_cast<std::size_t>(tap + i)), channels,
                                     y + i * channels);
                       }
                     });
  }
}

/// The terms of some neighbouring pixels.
/// @param x      [pixels, channels], @param zeros  one for each output of the panels of a group
/// @param terms  [pixels; groups, taps, outputs / groups]
void ComputeTerms(const FloatConvTransposeWeights& weights, MatrixView<const float> x,
                  const float* zeros, float* terms) {
  const ConvShape& shape = weights.shape();
  const std::size_t width = weights.pixel_terms() / shape.groups;
  const float* rows[kBlockRows];
  for (std::size_t r = 0; r < x.rows(); ++r) rows[r] = x.data_handle() + r * x.stride();
  for (std::size_t g = 0; g < shape.groups; ++g) {
    const FloatPanels panels = weights.panels(g);
    const MatrixView<float> y(terms + g * width, x.rows(), width, weights.pixel_terms());
    const FloatProduct product{{rows, x.rows()}, weights.runs(), panels, 0, y, zeros};
    AddProduct(product, g * shape.group_channels(), {0, panels.count()});
  }
}

void AddImagePart(const FloatConvTransposeWeights& weights, const ImagePart& part, float* scratch) {
  const ConvShape& shape = weights.shape();
  const Positions inputs = ReachingPixels(shape, part.pixels);
  if (weights.is_depthwise()) return AddDepthwise(weights, inputs, part);
  const auto block = static_cast<std::ptrdiff_t>(weights.block_pixels());
  const auto channels = static_cast<std::ptrdiff_t>(shape.channels);
  const auto pixel_terms = static_cast<std::ptrdiff_t>(weights.pixel_terms());
  const std::size_t num_zeros = FloatPanels::floats_for(weights.panels(0).outputs, 1);
  std::fill_n(scratch, num_zeros, 0.0F);
  float* terms = scratch + num_zeros;
  for (std::ptrdiff_t first = inputs.begin; first < inputs.end; first += block) {
    const std::ptrdiff_t count = std::min(block, inputs.end - first);
    const MatrixView<const float> x(part.x + first * channels, static_cast<std::size_t>(count),
                                    shape.channels, shape.channels);
    ComputeTerms(weights, x, scratch, terms);
    for (std::ptrdiff_t i = 0; i < count; ++i) {
      AddTerms(shape, first + i, terms + i * pixel_terms, part);
    }
  }
}

void FloatConvTranspose(const float* x, const FloatConvTransposeWeights& weights,
                        OutputPixels pixels, float* scratch, MatrixView<float> y) {
  const ConvShape& shape = weights.shape();
  for (std::size_t p = 0; p < y.rows(); ++p) {
    std::copy_n(weights.bias().data(), shape.outputs, y.row(p).data());
  }
  const std::size_t image_pixels = shape.num_pixels() / shape.images;
  const std::size_t image_floats = shape.image_input_pixels() * shape.channels;
  for (std::size_t p = pixels.begin; p < pixels.end;) {
    const std::size_t image = p / image_pixels;
    const std::size_t first = image * image_pixels;
    const std::size_t end = std::min(pixels.end, first + image_pixels);
    const Positions part{static_cast<std::ptrdiff_t>(p - first),
                         static_cast<std::ptrdiff_t>(end - first)};
    AddImagePart(weights, {x + image * image_floats, part, y.row(p - pixels.begin).data()},
                 scratch);
    p = end;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(FloatConvTranspose);

void float_conv_transpose(const float* x, const FloatConvTransposeWeights& weights,
                          OutputPixels pixels, std::span<std::byte> scratch,
                          MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(pixels.end <= weights.shape().num_pixels());
  HALFTONE_ASSERT(y.rows() == pixels.count() && y.cols() == weights.shape().outputs);
  HALFTONE_ASSERT(scratch.size() >= weights.scratch_bytes());
  if (y.rows() == 0) return;
  HALFTONE_DISPATCH(FloatConvTranspose)
  (x, weights, pixels, reinterpret_cast<float*>(scratch.data()), y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
