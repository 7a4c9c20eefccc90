// SPDX-License-Identifier: Apache-2.0
// Convolution of 8-bit integer pixels with weight levels of up to 8 bits, without gathering: for
// weights with a basis per tensor or output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_finish.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/conv/int8_pixels.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {

struct LevelGrid;

/// The type of the numbers that byte_conv() multiplies. All give the same sums.
enum class ByteLayout {
  kBytes,   ///< levels and pixels of 8 bits
  kShorts,  ///< of 16 bits, where sums of two products of 8 bits do not fit a register's lanes
  kSmall,   ///< levels without their common_factor(), if they have one, and pixels of 8 bits: sums
            ///< of several products fit 16 bits
};

/// The fastest layout for weights on the current target.
ByteLayout preferred_byte_layout(const numerics::MatrixEncoding& encoding) noexcept;

/// Encoded weights [outputs, taps, channels / groups] as byte_conv() reads them: on a LevelGrid of
/// weight_steps(), in blocks of 16 outputs and pieces of 4 bytes of a tap, which are 4 or 2
/// channels,
///
///     group 0:  block 0:  piece 0 [output 0 [level of channel 0, 1, ...], output 1 [...], ...]
///                         piece 1 ...
///               block 1:  ...
///
/// Missing channels and outputs are zero.
class ByteConvWeights {
 public:
  static constexpr std::size_t kMaxInputs = 32767;
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kPieceBytes = 4;

  /// @param weights  codes [outputs, inputs of an output]; granularity tensor or channel
  /// @param x        scale and offset of the pixels; the pixels themselves are ignored
  /// @throws Error as ConvShape::check() and check_weights() with kMaxInputs; kUnsupported if
  ///         granularity is group, or the layout does not take the levels; kShape if the codes do
  ///         not fit
  ByteConvWeights(const ConvShape& shape, const EncodedWeights& weights, const Int8Pixels& x,
                  ByteLayout layout);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] ByteLayout layout() const { return layout_; }
  /// Inputs of a piece.
  [[nodiscard]] std::size_t piece_inputs() const { return layout_ == ByteLayout::kShorts ? 2 : 4; }
  /// What the stored levels are multiplied by: a common factor of the levels, or 1.
  [[nodiscard]] std::int32_t factor() const { return factor_; }
  [[nodiscard]] std::int32_t steps() const { return steps_; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t tap_pieces() const { return tap_pieces_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return levels_.size_bytes() + floats_.size_bytes();
  }
  /// The pieces of a block.
  [[nodiscard]] const std::uint8_t* levels(std::size_t group, std::size_t block) const {
    return levels_.as<std::uint8_t>().data() + (group * blocks_ + block) * block_bytes();
  }
  [[nodiscard]] std::size_t block_bytes() const {
    return shape_.taps() * tap_pieces_ * kPieceBytes * kBlock;
  }
  /// The length of a row of floats for all blocks of all groups. The rows are: base [patterns],
  /// half_step scale, center scale.
  [[nodiscard]] std::size_t float_row() const { return shape_.groups * blocks_ * kBlock; }
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return floats_.as<float>().data() + pattern * float_row();
  }
  [[nodiscard]] const float* half_steps() const { return base(patterns_.count()); }
  [[nodiscard]] const float* centers() const { return base(patterns_.count() + 1); }

  /// Whether a window is a pixel as it is stored, which needs no strip.
  [[nodiscard]] bool reads_in_place() const { return reads_in_place_; }
  /// The strip of the pixels, in whole pieces.
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// [pieces] the offset of each piece in the strip, relative to the first pixel of a window.
  [[nodiscard]] std::span<const std::uint32_t> inputs() const { return inputs_; }
  /// Bytes of scratch memory for a call of byte_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  /// Writes the levels of an output, which has one basis.
  /// @tparam Level  type of a level, as `layout` says
  /// @return [taps] sums of the weights of each tap
  template <typename Level>
  std::vector<double> pack_levels(const numerics::BitPlanes& codes, std::size_t output,
                                  const LevelGrid& grid);

  ConvShape shape_;
  PaddingPatterns patterns_;
  ByteLayout layout_ = ByteLayout::kBytes;
  std::int32_t steps_ = 0;
  std::int32_t factor_ = 1;
  std::size_t blocks_ = 0;
  std::size_t tap_pieces_ = 0;
  bool reads_in_place_ = false;
  ConvStrip strip_;
  std::vector<std::uint32_t> inputs_;
  AlignedBuffer levels_;
  AlignedBuffer floats_;
};

/// y[p, o] = sum over taps and channels of weights, on their grids, and pixels, zero outside the
/// image, plus bias. With P = sum u q and Q = sum q over the window of p, q = 0 outside, exact
/// integers:
///
///     base = bias + offset sum_(k inside) w_k    in float64, then rounded; each sum from tap to
///            tap, that of a tap center m + half_step (2 sum u - steps m) with m channels
///     acc = base;  acc += (half_step scale) (2 P - steps Q);  acc += (center scale) Q
///     acc += residual, then the limits           as finish says
///
/// in float32 where not said otherwise, in this order, without contraction. The result is the same,
/// bit for bit, on every target, for every layout and for any division into ranges of lines.
/// @param q  [images, pixels, channels]
void byte_conv(const std::int8_t* q, const ByteConvWeights& weights, const ConvPart& part) noexcept;

}  // namespace halftone::kernels
