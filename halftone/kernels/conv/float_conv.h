// SPDX-License-Identifier: Apache-2.0
// Convolution of float32 pixels with float32 weights; the same bits on every processor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_finish.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/dense/float_panels.h"

namespace halftone::kernels {

/// Weights [outputs, taps, channels / groups] as float_conv() reads them: the panels of each group,
/// one group after another. Where each channel has one output of its own (depthwise), the channels
/// share panels, and those of a panel that they fill an even part of are repeated in it.
class FloatConvWeights {
 public:
  /// Number of output pixels worth a call of float_conv(), which reads all weights.
  static constexpr std::size_t kMinPixels = 96;

  /// @param weights  [outputs, taps, channels / groups]
  /// @param bias     [outputs], or empty for none
  /// @throws Error as ConvShape::check(); kShape if the memory is not available
  FloatConvWeights(const ConvShape& shape, std::span<const float> weights,
                   std::span<const float> bias);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] bool is_depthwise() const { return is_depthwise_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return panels_.size_bytes() + bias_.size() * sizeof(float);
  }
  /// The bias of each output of panels(group), with zeros for the missing outputs of the last
  /// panel.
  [[nodiscard]] const float* bias(std::size_t group) const;
  /// The panels of a group; of all channels where the convolution is depthwise.
  [[nodiscard]] FloatPanels panels(std::size_t group) const;
  /// The inputs of an output, relative to the first pixel and channel of its window; one for each
  /// tap where the convolution is depthwise.
  [[nodiscard]] std::span<const FloatRun> runs() const { return runs_; }

  /// Whether windows are read from the image without a copy, because no tap lies outside it.
  [[nodiscard]] bool reads_image() const { return reads_image_; }
  /// The rows of pixels that a window is read from: a copy with padding, or a whole image.
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// Bytes of scratch memory for a call of float_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  ConvShape shape_;
  bool is_depthwise_;
  bool reads_image_;
  ConvStrip strip_;
  std::vector<FloatRun> runs_;
  std::vector<float> bias_;  ///< [groups of panels, panels, FloatPanels::kOutputs]
  AlignedBuffer panels_;
};

/// y[p, o] = bias[o] + sum_(t, c) x[pixel of p and t, c] w[o, t, c], in float32: starting from the
/// bias (0 if there is none) the terms are added tap by tap, the last axis fastest, and channel by
/// channel, each product and each sum rounded. Terms outside the image have x = 0 and are added
/// too. The result is the same, bit for bit, on every target and for any division into ranges of
/// lines.
/// @param x        [images, pixels, channels]
/// @param lines    which lines to compute
/// @param scratch  [weights.scratch_bytes()], aligned to 64
/// @param y        [pixels of `lines`, outputs]
void float_conv(const float* x, const FloatConvWeights& weights, LineRange lines,
                std::span<std::byte> scratch, MatrixView<float> y) noexcept;

/// Reference implementation of float_conv() in plain loops.
/// @param x     [images, pixels, channels]
/// @param w     [outputs, taps, channels / groups]
/// @param bias  [outputs], or empty
/// @param y     [pixels, outputs]
void float_conv_reference(const ConvShape& shape, std::span<const float> x,
                          std::span<const float> w, std::span<const float> bias,
                          MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
