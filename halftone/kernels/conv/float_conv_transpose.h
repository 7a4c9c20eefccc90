// SPDX-License-Identifier: Apache-2.0
// Transposed convolution of float32 pixels with float32 weights; the same bits on every processor.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/dense/float_panels.h"

namespace halftone::kernels {

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

}  // namespace halftone::kernels
