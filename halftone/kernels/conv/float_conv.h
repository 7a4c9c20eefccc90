// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling of float32.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/dense/float_matmul.h"

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

/// Weights [outputs, taps, channels / groups] as float_conv_transpose() reads them: for each group
/// the panels of a matrix [taps, outputs / groups; channels / groups], which turns a pixel into the
/// terms of all its taps. Where each channel has one output of its own (depthwise): [taps,
/// channels].
class FloatConvTransposeWeights {
 public:
  /// @param shape    the axes differ from those of a convolution: tap k of input p writes output
  ///                 p stride + k dilation - pad_before
  /// @param weights  [outputs, taps, channels / groups]
  /// @param bias     [outputs], or empty for none
  /// @throws Error as ConvShape::check(); kMemory as AlignedBuffer
  FloatConvTransposeWeights(const ConvShape& shape, std::span<const float> weights,
                            std::span<const float> bias);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] bool is_depthwise() const { return is_depthwise_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return packed_.size_bytes() + bias_.size() * sizeof(float);
  }
  [[nodiscard]] std::span<const float> bias() const { return bias_; }
  /// The panels of a group. @pre not depthwise
  [[nodiscard]] FloatPanels panels(std::size_t group) const;
  /// The channels of a group as inputs of its panels.
  [[nodiscard]] std::span<const FloatRun> runs() const { return runs_; }
  /// The weights of a tap, [channels]. @pre depthwise
  [[nodiscard]] const float* tap(std::size_t i) const {
    return packed_.as<float>().data() + i * shape_.channels;
  }

  /// Number of terms of an input pixel: one for each tap and output.
  [[nodiscard]] std::size_t pixel_terms() const { return shape_.taps() * shape_.outputs; }
  /// Number of input pixels whose terms are computed together. @pre not depthwise
  [[nodiscard]] std::size_t block_pixels() const;
  /// Bytes of scratch memory for a call of float_conv_transpose().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  [[nodiscard]] std::size_t group_terms() const { return shape_.taps() * shape_.group_outputs(); }
  void pack_group(std::size_t group, std::span<const float> weights);

  ConvShape shape_;
  bool is_depthwise_;
  std::vector<FloatRun> runs_;
  std::vector<float> bias_;  ///< [outputs]
  AlignedBuffer packed_;
};

/// Pixels [begin, end) of the outputs of a convolution, over all images.
struct OutputPixels {
  std::size_t begin = 0;
  std::size_t end = 0;

  [[nodiscard]] std::size_t count() const { return end - begin; }
};

/// y[p, o] = bias[o] + sum_q (sum_c x[q, c] w[o, t, c]) over the input pixels q that reach p, by a
/// tap t, in float32. The inner sums start from 0 and run in the order of channels; the outer sum
/// starts from the bias (0 if there is none) and runs in the order of input pixels, the last axis
/// fastest. Each product and each sum is rounded. The result is the same, bit for bit, on every
/// target and for any division into ranges of pixels.
/// @param x        [images, pixels, channels]
/// @param pixels   which output pixels to compute
/// @param scratch  [weights.scratch_bytes()], aligned to 64
/// @param y        [pixels.count(), outputs]
void float_conv_transpose(const float* x, const FloatConvTransposeWeights& weights,
                          OutputPixels pixels, std::span<std::byte> scratch,
                          MatrixView<float> y) noexcept;

/// Reference implementation of float_conv_transpose() in plain loops.
/// @param x     [images, pixels, channels]
/// @param w     [outputs, taps, channels / groups]
/// @param bias  [outputs], or empty
/// @param y     [pixels, outputs]
void float_conv_transpose_reference(const ConvShape& shape, std::span<const float> x,
                                    std::span<const float> w, std::span<const float> bias,
                                    MatrixView<float> y) noexcept;

/// A pooling of each channel by itself.
struct FloatPool {
  ConvShape shape;     ///< as many outputs and groups as channels
  bool is_max = true;  ///< otherwise the mean
  bool counts_padding =
      false;  ///< whether a mean divides by all taps, or by those inside the image
};

/// y[p, c] = the largest x[q, c], or their mean, over the pixels q of the window of p inside the
/// image. A maximum starts from -infinity; a pixel replaces it if it is larger. A mean adds in
/// float64 from 0 on in the order of taps, the last axis fastest, divides by at least 1, and rounds
/// once to float32. The result is the same, bit for bit, on every target and for any division into
/// ranges of lines.
/// @param x      [images, pixels, channels]
/// @param lines  which lines to compute
/// @param y      [pixels of `lines`, channels]
void float_pool(const float* x, const FloatPool& pool, LineRange lines,
                MatrixView<float> y) noexcept;

/// Reference implementation of float_pool() in plain loops.
/// @param y  [pixels, channels]
void float_pool_reference(const float* x, const FloatPool& pool, MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
