// SPDX-License-Identifier: Apache-2.0
// Convolution of 8-bit integer pixels with encoded weights: windows are gathered as rows, some
// pixels at a time, and multiplied as in a fully connected layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/encoded.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights [outputs, taps, channels / groups] as int8_conv() reads them: the weights of a
/// matrix product for each group, and the initial value of each output for each padding pattern.
class Int8ConvWeights {
 public:
  /// @param weights   of any granularity
  /// @param layout    of the products
  /// @param x_offset  offset of the pixels
  /// @throws Error as ConvShape::check() and LevelMatmulWeights; kShape if the
  ///         codes do not fit the shape
  Int8ConvWeights(const ConvShape& shape, const EncodedWeights& weights, LevelLayout layout,
                  float x_offset);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] std::span<const LevelMatmulWeights> groups() const { return groups_; }
  /// [outputs] of a pattern.
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return bases_.as<float>().data() + pattern * shape_.outputs;
  }
  [[nodiscard]] std::size_t size_bytes() const;
  /// Number of output pixels whose windows are gathered at a time.
  [[nodiscard]] std::size_t tile_pixels() const { return tile_pixels_; }
  /// Bytes of scratch memory for a call of int8_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  ConvShape shape_;
  PaddingPatterns patterns_;
  std::size_t tile_pixels_ = 1;
  std::vector<LevelMatmulWeights> groups_;
  AlignedBuffer bases_;
};

/// y[p, o] = product of the window of p with the weights, as plane_matmul() or level_matmul()
/// without bias, the window outside the image holding q = 0; then
///
///     y += bias - offset sum_(k outside) w_k      in float64, then rounded; the sums of each tap
///                                                 as the product has them for q = 1
///     y += residual, then the limits              as finish says
///
/// The result is the same, bit for bit, on every target and for any division into ranges of lines.
/// @param x  its offset is the x_offset of the weights
void int8_conv(const Int8Pixels& x, const Int8ConvWeights& weights, const ConvPart& part) noexcept;

}  // namespace halftone::kernels
