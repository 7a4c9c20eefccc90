// SPDX-License-Identifier: Apache-2.0
// Depthwise convolution of 8-bit integer pixels with encoded weights: lanes are channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/encoded.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// The weight of each tap of a channel as an integer: w ~ scale i, i = round(w / scale) with
/// scale = max |w| / 32767, so that no weight is off by more than 1/65534 of the channel's largest.
struct DepthwiseChannel {
  float scale = 0;  ///< 0 where all weights are
  std::int16_t i[512] = {};

  /// @param codes  [outputs, taps], of one of whose rows this is
  DepthwiseChannel(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                   std::size_t row);
};

/// The common base of DepthwiseWeights and IntegerDepthwiseWeights: levels [channels, taps], those
/// of two taps above each other side by side, rows of taps counted through all planes of the
/// kernel, in blocks of 16 channels,
///
///     block 0:  column 0:  rows 0 and 1 [channel 0 [row 0, row 1], channel 1 [row 0, row 1], ...]
///                          rows 2 and 3 ...
///               column 1:  ...
///     block 1:  ...
///
/// Missing rows and channels are zero.
class DepthwiseLevels {
 public:
  static constexpr std::size_t kBlock = 16;

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] std::size_t blocks() const { return (shape_.channels + kBlock - 1) / kBlock; }
  /// The length of a row of numbers for all blocks.
  [[nodiscard]] std::size_t row_outputs() const { return blocks() * kBlock; }
  /// Rows of taps in all planes, and pairs of them.
  [[nodiscard]] std::size_t rows() const { return shape_.axes[0].kernel * shape_.axes[1].kernel; }
  [[nodiscard]] std::size_t pairs() const { return (rows() + 1) / 2; }
  /// Columns of pixels that a line of outputs reads, with padding.
  [[nodiscard]] std::size_t strip_width() const;
  /// [columns, pairs, 16, 2] of a block.
  [[nodiscard]] const std::int16_t* levels(std::size_t block) const {
    return levels_.as<std::int16_t>().data() + block * block_levels();
  }

  /// Bytes of scratch memory for a call of depthwise_conv(), and of the table of pixel rows at its
  /// beginning.
  [[nodiscard]] std::size_t scratch_bytes() const;
  [[nodiscard]] std::size_t rows_bytes() const;

 protected:
  /// @pre shape.check(), and as many groups and outputs as channels
  explicit DepthwiseLevels(const ConvShape& shape);
  /// Where the level of a tap of a channel is.
  std::int16_t& level(std::size_t channel, std::size_t tap);
  [[nodiscard]] std::size_t levels_bytes() const { return levels_.size_bytes(); }

 private:
  [[nodiscard]] std::size_t block_levels() const {
    return shape_.axes[2].kernel * pairs() * kBlock * 2;
  }

  ConvShape shape_;
  PaddingPatterns patterns_;
  AlignedBuffer levels_;
};

/// Encoded weights as depthwise_conv() reads them.
class DepthwiseWeights : public DepthwiseLevels {
 public:
  /// The sum of this many products of 8 and 16 bits fits 31 bits.
  static constexpr std::size_t kMaxTaps = 512;

  /// @param codes     [channels, taps]
  /// @param encoding  of `codes`, any granularity
  /// @param bias      [channels], or empty for none
  /// @param x         scale and offset of the pixels; the pixels themselves are ignored
  /// @throws Error as ConvShape::check() and check_weights() with kMaxTaps; kShape if the codes do
  ///         not fit, or the numbers of groups, channels and outputs differ
  DepthwiseWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                   const numerics::MatrixEncoding& encoding, std::span<const float> bias,
                   const Int8Pixels& x);

  [[nodiscard]] std::size_t size_bytes() const { return levels_bytes() + floats_.size_bytes(); }
  /// [blocks, 16] bias + offset sum_(k inside) w_k of a pattern; and w's scale times that of x.
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return floats_.as<float>().data() + pattern * row_outputs();
  }
  [[nodiscard]] const float* scales() const { return base(patterns().count()); }

 private:
  AlignedBuffer floats_;
};

/// Weights of 8 bits, less their zero points, for integer_depthwise_conv().
class IntegerDepthwiseWeights : public DepthwiseLevels {
 public:
  /// @param x_zero  zero point of the pixels
  /// @throws Error as ConvShape::check()
  /// @pre as many groups and outputs as channels
  IntegerDepthwiseWeights(const ConvShape& shape, const IntegerWeights& weights,
                          std::int32_t x_zero);

  [[nodiscard]] std::size_t size_bytes() const { return levels_bytes() + numbers_.size_bytes(); }
  /// [blocks, 16] bias - x_zero sum_(k inside) w_k of a pattern.
  [[nodiscard]] const std::int32_t* base(std::size_t pattern) const {
    return numbers_.as<std::int32_t>().data() + pattern * row_outputs();
  }

 private:
  AlignedBuffer numbers_;
};

/// y[p, c] = sum over taps of weights and pixels of a channel, zero outside the image, plus bias.
/// With P = sum i q over the window of p, q = 0 outside, an exact integer:
///
///     base = bias + offset sum_(k inside) scale_w i_k    in float64, then rounded
///     acc = base + (scale_w scale) P
///     acc += residual, then the limits                   as finish says
///
/// in float32 where not said otherwise, without contraction. The result is the same, bit for bit,
/// on every target and for any division into ranges of lines.
/// @param q  [images, pixels, channels]
void depthwise_conv(const std::int8_t* q, const DepthwiseWeights& weights,
                    const ConvPart& part) noexcept;

/// integer_conv() of as many groups and outputs as channels.
void integer_depthwise_conv(const std::int8_t* q, const IntegerDepthwiseWeights& weights,
                            const IntegerConvPart& part) noexcept;

/// Reference implementation of depthwise_conv() in plain loops.
void depthwise_conv_reference(const ConvShape& shape, const Int8Pixels& x,
                              const EncodedWeights& weights, const ConvFinish& finish,
                              MatrixView<float> y);

}  // namespace halftone::kernels
