// SPDX-License-Identifier: Apache-2.0
// Convolution of 8-bit integer pixels without gathering, with weight levels of up to 8 bits in
// bases of a tensor, an output or some inputs of one, or with weights of 8-bit integers, exactly.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/encoded.h"

namespace halftone::kernels {

/// The type of the numbers that byte_conv() multiplies. All give the same sums.
enum class ByteLayout {
  kBytes,   ///< levels and pixels of 8 bits
  kShorts,  ///< of 16 bits, where sums of two products of 8 bits do not fit a register's lanes
  kSmall,   ///< levels without their common_factor(), if they have one, and pixels of 8 bits: sums
            ///< of several products fit 16 bits
};

/// The fastest layout for weights on the current target.
ByteLayout preferred_byte_layout(const numerics::MatrixEncoding& encoding) noexcept;

/// The fastest layout for integers of 8 bits on the current target.
ByteLayout preferred_integer_layout() noexcept;

/// The common base of ByteConvWeights and IntegerConvWeights: levels [outputs, taps, channels /
/// groups] in blocks of 16 outputs and pieces of 4 bytes of a tap, which are 4 or 2 channels,
///
///     group 0:  block 0:  piece 0 [output 0 [level of channel 0, 1, ...], output 1 [...], ...]
///                         piece 1 ...
///               block 1:  ...
///
/// Missing channels and outputs are zero. If a tap is one channel of 8 bits, a piece has four
/// neighbouring taps of a row of the kernel instead: see joins_taps().
///
/// The inputs of an output may be in sections with a basis each, of whole pieces. Sums of pixels
/// are those of spans: the largest parts of a tap that divide all sections.
class ByteConvLevels {
 public:
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kPieceBytes = 4;

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] ByteLayout layout() const { return layout_; }
  /// Inputs of a piece.
  [[nodiscard]] std::size_t piece_inputs() const { return layout_ == ByteLayout::kShorts ? 2 : 4; }
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  [[nodiscard]] std::size_t tap_pieces() const { return tap_pieces_; }
  /// Sections of the inputs.
  [[nodiscard]] std::size_t sections() const { return sections_; }
  /// Pieces of a section; the last one may have fewer.
  [[nodiscard]] BlockRange section(std::size_t s) const {
    return {s * section_pieces_, std::min((s + 1) * section_pieces_, inputs_.size())};
  }
  /// Inputs of a span, and spans of a tap.
  [[nodiscard]] std::size_t span_inputs() const { return span_inputs_; }
  [[nodiscard]] std::size_t tap_spans() const {
    return sections_ == 1 ? 1 : shape_.group_channels() / span_inputs_;
  }
  /// The pieces of a block.
  [[nodiscard]] const std::uint8_t* levels(std::size_t group, std::size_t block) const {
    return levels_.as<std::uint8_t>().data() + (group * blocks_ + block) * block_bytes();
  }
  [[nodiscard]] std::size_t block_bytes() const { return inputs_.size() * kPieceBytes * kBlock; }
  /// The length of a row of numbers for all blocks of all groups.
  [[nodiscard]] std::size_t row_outputs() const { return shape_.groups * blocks_ * kBlock; }

  /// Whether pieces have neighbouring taps. A pixel of the strip then has its own byte and those of
  /// the next three.
  [[nodiscard]] bool joins_taps() const { return joins_taps_; }
  /// Whether a window is a pixel as it is stored, which needs no strip.
  [[nodiscard]] bool reads_in_place() const { return reads_in_place_; }
  /// The strip of the pixels, in whole pieces.
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// [pieces] the offset of each piece in the strip, relative to the first pixel of a window.
  [[nodiscard]] std::span<const std::uint32_t> inputs() const { return inputs_; }
  /// Sums in the scratch memory besides those of windows: of a row of pixels and of the windows
  /// along each row; with several sections of all spans of the strip.
  [[nodiscard]] std::size_t num_sums() const;
  /// Bytes of scratch memory for a call of byte_conv() or integer_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 protected:
  /// @param section_inputs  inputs of a section; 0: all
  ByteConvLevels(const ConvShape& shape, ByteLayout layout, std::size_t section_inputs = 0);

  /// Writes the levels of an output.
  /// @param level_of  level_of(tap channels + channel)
  /// @return [taps, tap_spans] the sums of the levels of each span
  template <typename LevelOf>
  std::vector<std::int64_t> set_levels(std::size_t output, const LevelOf& level_of);
  /// Where an output is in a row of numbers.
  [[nodiscard]] std::size_t column(std::size_t output) const {
    return output / shape_.group_outputs() * blocks_ * kBlock + output % shape_.group_outputs();
  }
  [[nodiscard]] std::size_t levels_bytes() const { return levels_.size_bytes(); }

 private:
  ConvShape shape_;
  PaddingPatterns patterns_;
  ByteLayout layout_ = ByteLayout::kBytes;
  std::size_t blocks_ = 0;
  std::size_t tap_pieces_ = 0;
  bool joins_taps_ = false;
  bool reads_in_place_ = false;
  ConvStrip strip_;
  std::vector<std::uint32_t> inputs_;
  std::size_t section_pieces_ = 0;
  std::size_t span_inputs_ = 0;
  std::size_t sections_ = 1;
  AlignedBuffer levels_;
};

/// Encoded weights as byte_conv() reads them: on a LevelGrid of weight_steps().
class ByteConvWeights : public ByteConvLevels {
 public:
  static constexpr std::size_t kMaxInputs = 32767;
  /// Inputs that share a basis are a multiple of this many channels of a tap, or all of an output.
  static constexpr std::size_t kSectionChannels = 4;

  /// @param weights  codes [outputs, inputs of an output]
  /// @param x        scale and offset of the pixels; the pixels themselves are ignored
  /// @throws Error as ConvShape::check() and check_weights() with kMaxInputs; kUnsupported if
  ///         groups of inputs are no whole kSectionChannels, or the layout does not take the
  ///         levels; kShape if the codes do not fit
  ByteConvWeights(const ConvShape& shape, const EncodedWeights& weights, const Int8Pixels& x,
                  ByteLayout layout);

  /// What the stored levels are multiplied by: a common factor of the levels, or 1.
  [[nodiscard]] std::int32_t factor() const { return factor_; }
  [[nodiscard]] std::int32_t steps() const { return steps_; }
  [[nodiscard]] bool has_large_levels() const { return steps_ > 127; }
  /// Whether levels may have a center other than 0.
  [[nodiscard]] bool has_centers() const { return has_centers_; }
  /// Whether outputs depend on the sums of their windows.
  [[nodiscard]] static bool needs_sums() { return true; }
  [[nodiscard]] std::size_t size_bytes() const { return levels_bytes() + floats_.size_bytes(); }
  /// Rows of floats: base [patterns]; of each section half_step scale, center scale.
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return floats_.as<float>().data() + pattern * row_outputs();
  }
  [[nodiscard]] const float* half_steps(std::size_t section) const {
    return base(patterns().count() + 2 * section);
  }
  [[nodiscard]] const float* centers(std::size_t section) const {
    return half_steps(section) + row_outputs();
  }

 private:
  void pack(std::size_t output, const EncodedWeights& weights, const Int8Pixels& x);

  std::int32_t steps_ = 0;
  std::int32_t factor_ = 1;
  bool has_centers_ = false;
  AlignedBuffer floats_;
};

/// Integers as integer_conv() reads them: with ByteLayout::kBytes their levels are from 0 to
/// 255, with kShorts they are less their zero points.
class IntegerConvWeights : public ByteConvLevels {
 public:
  /// @param x_zero  zero point of the pixels
  /// @param layout  kBytes, if preferred_integer_layout() is, or kShorts
  /// @throws Error as ConvShape::check()
  IntegerConvWeights(const ConvShape& shape, const IntegerWeights& weights, std::int32_t x_zero,
                     ByteLayout layout);

  [[nodiscard]] std::int32_t factor() const { return 1; }
  [[nodiscard]] static bool has_large_levels() { return true; }
  [[nodiscard]] bool needs_sums() const { return layout() != ByteLayout::kShorts; }
  [[nodiscard]] std::size_t size_bytes() const { return levels_bytes() + numbers_.size_bytes(); }
  /// Rows of integers: base [patterns], zero points of the levels.
  [[nodiscard]] const std::int32_t* base(std::size_t pattern) const {
    return numbers_.as<std::int32_t>().data() + pattern * row_outputs();
  }
  [[nodiscard]] const std::int32_t* zeros() const { return base(patterns().count()); }

 private:
  AlignedBuffer numbers_;
};

/// y[p, o] = sum over taps and channels of weights, on their grids, and pixels, zero outside the
/// image, plus bias. With P = sum u q and Q = sum q over a section of the window of p, q = 0
/// outside, exact integers:
///
///     base = bias + offset sum_(k inside) w_k    in float64, then rounded; each sum from tap to
///            tap, from span to span, that of a span of m inputs
///            center m + half_step (2 sum u - steps m)
///     acc = base;  for each section:  acc += (half_step scale) (2 P - steps Q)
///                                     acc += (center scale) Q   if centers may not be 0
///     acc += residual, then the limits           as finish says
///
/// in float32 where not said otherwise, in this order, without contraction. The result is the same,
/// bit for bit, on every target, for every layout and for any division into ranges of lines.
/// @param q  [images, pixels, channels]
void byte_conv(const std::int8_t* q, const ByteConvWeights& weights, const ConvPart& part) noexcept;

/// y[p, o] = bias + sum over taps and channels of (w - its zero point) (q - x_zero), zero outside
/// the image, modulo 2^32: exactly, on every target and for any division into ranges of lines.
/// @param q  [images, pixels, channels]
void integer_conv(const std::int8_t* q, const IntegerConvWeights& weights,
                  const IntegerConvPart& part) noexcept;

/// Reference implementation of integer_conv() in plain loops.
/// @param x  [images, pixels, channels]
void integer_conv_reference(const ConvShape& shape, const std::int8_t* q, std::int32_t x_zero,
                            const IntegerWeights& weights, MatrixView<std::int32_t> y);

}  // namespace halftone::kernels
