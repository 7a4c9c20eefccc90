// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/float_conv.cc"
#include "halftone/kernels/conv/float_conv.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/conv/float_depthwise-inl.h"
#include "halftone/kernels/dense/float_tiles-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// The outputs of at most kBlockRows pixels.
/// @param x  where the windows of the pixels begin
void ConvolveBlock(const FloatConvWeights& weights, std::span<const float* const> x,
                   MatrixView<float> y) {
  const ConvShape& shape = weights.shape();
  FloatProduct product{x, weights.runs(), weights.panels(0), 0, y, weights.bias(0)};
  const BlockRange panels{0, product.weights.count()};
  for (std::size_t g = 0; g < shape.groups; ++g) {
    product.weights = weights.panels(g);
    product.start = weights.bias(g);
    product.y = {y.data_handle() + g * shape.group_outputs(), y.rows(), shape.group_outputs(),
                 y.stride()};
    AddProduct(product, g * shape.group_channels(), panels);
  }
}

/// The outputs of some lines; unless the convolution is depthwise, pixels of several lines
/// together.
/// @param begin_of  begin_of(i): where the window of the first pixel of the i-th of them begins
/// @param y         [pixels, outputs]
template <typename BeginOf>
HWY_INLINE void ConvolveLines(const FloatConvWeights& weights, std::size_t lines,
                              const BeginOf& begin_of, MatrixView<float> y) {
  const ConvShape& shape = weights.shape();
  const std::size_t step = shape.axes[2].stride * shape.channels;
  if (weights.is_depthwise()) {
    const std::size_t width = shape.line_pixels();
    for (std::size_t i = 0; i < lines; ++i) {
      ConvolveDepthwiseLine(weights, begin_of(i), step, y.rows_from(i * width, width));
    }
    return;
  }
  const float* x[kBlockRows];
  std::size_t count = 0;
  std::size_t done = 0;
  for (std::size_t i = 0; i < lines; ++i) {
    const float* at = begin_of(i);
    for (std::size_t p = 0; p < shape.line_pixels(); ++p, at += step) {
      x[count++] = at;
      if (count != kBlockRows) continue;
      ConvolveBlock(weights, {x, count}, y.rows_from(done, count));
      done += count;
      count = 0;
    }
  }
  if (count != 0) ConvolveBlock(weights, {x, count}, y.rows_from(done, count));
}

/// Copies the rows that `lines` lines from `line` on read, with their padding.
void FillStrip(const ConvShape& shape, const ConvStrip& strip, const ConvLine& line,
               std::size_t lines, const float* x, float* to) {
  const ConvAxis& axis = shape.axes[2];
  const std::size_t c = shape.channels;
  const std::size_t before = std::min(axis.pad_before, strip.width);
  const std::size_t inside = std::min(axis.input, strip.width - before);
  const std::size_t after = strip.width - before - inside;
  for_each_strip_row(shape, strip, line, lines,
                     [&](std::size_t row, bool is_inside, std::size_t first) {
                       float* out = to + row * strip.width * c;
                       if (!is_inside) return std::fill_n(out, strip.width * c, 0.0F), void();
                       std::fill_n(out, before * c, 0.0F);
                       std::memcpy(out + before * c, x + first * c, inside * c * sizeof(float));
                       std::fill_n(out + (before + inside) * c, after * c, 0.0F);
                     });
}

void FloatConv(const float* x, const FloatConvWeights& weights, LineRange lines, float* scratch,
               MatrixView<float> y) {
  const ConvShape& shape = weights.shape();
  // No structured binding: Clang 14 cannot capture one.
  const auto& az = shape.axes[0];
  const auto& ay = shape.axes[1];
  const auto& ax = shape.axes[2];
  const ConvStrip& strip = weights.strip();
  if (weights.reads_image()) {
    const auto begin_of = [&](std::size_t i) {
      const ConvLine line = line_at(shape, lines.begin + i);
      const std::size_t slice = line.image * az.input + line.z * az.stride;
      return x + (slice * ay.input + line.y * ay.stride) * ax.input * shape.channels;
    };
    return ConvolveLines(weights, lines.count(), begin_of, y);
  }
  // A vector of channels may reach beyond the last one.
  std::fill_n(scratch + strip.pixels() * shape.channels, FloatPanels::kOutputs, 0.0F);
  const auto begin_of = [&](std::size_t i) {
    return scratch + i * ay.stride * strip.width * shape.channels;
  };
  for (std::size_t l = lines.begin; l < lines.end;) {
    const ConvLine line = line_at(shape, l);
    const std::size_t count = std::min({strip.lines, lines.end - l, ay.output - line.y});
    FillStrip(shape, strip, line, count, x, scratch);
    const std::size_t first = (l - lines.begin) * shape.line_pixels();
    ConvolveLines(weights, count, begin_of, y.rows_from(first, count * shape.line_pixels()));
    l += count;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(FloatConv);

void float_conv(const float* x, const FloatConvWeights& weights, LineRange lines,
                std::span<std::byte> scratch, MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(are_outputs(y, weights.shape(), lines));
  HALFTONE_ASSERT(scratch.size() >= weights.scratch_bytes());
  if (y.rows() == 0) return;
  HALFTONE_DISPATCH(FloatConv)
  (x, weights, lines, reinterpret_cast<float*>(scratch.data()), y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
