// SPDX-License-Identifier: Apache-2.0
// Convolution on bits: encoded pixels and encoded weights, of any stride, dilation, padding and
// grouping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_finish.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/encoded.h"
#include "halftone/numerics/digits.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights [outputs, taps, channels / groups] as bit_conv() reads them. Outputs of a group
/// form blocks of 16, missing ones are zero, and up to four blocks form a panel, whose columns are
/// the planes of its blocks, plane 0 of each, then plane 1 ...; inputs form pieces of 8 channels of
/// a tap, the last of a tap with fewer:
///
///     group 0:  panel 0:  tap 0, piece 0:  columns 0 and 1, columns 2 and 3, ... the last if alone
///                         tap 0, piece 1:  ...
///                         ...
///               panel 1:  ...
///     group 1:  ...
///
///     a column, 32 bytes: the lower four bits of output 0, 1, ... 15, then the upper four; where a
///     digit has two planes, two columns, 64 bytes: the lower of both, then the upper of both
///
/// Activations are processed digit by digit. With X the digits of four inputs, w their weights of a
/// plane as -1 and +1, and M the digit's reach, (4 M - sum X w) / 2 is an integer in [0, 4 M]; if
/// the digit is one plane, it is the number of differing bits. The codes of four inputs select a
/// table of this number for each of the 16 w. So one look-up counts the differences of 4 inputs for
/// all outputs that a vector holds.
class BitConvWeights {
 public:
  /// With more inputs, the dot product of two planes would not fit 16 bits.
  static constexpr std::size_t kMaxInputs = 32767;
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kPanelBlocks = 4;
  static constexpr std::size_t kPieceInputs = 8;

  /// @param shape     of the convolution
  /// @param codes     [outputs, inputs of an output], Kw planes
  /// @param encoding  of `codes`; granularity tensor or channel
  /// @param bias      [outputs], or empty for none
  /// @param x_basis   of the activations, Kx bits
  /// @throws Error as ConvShape::check() and check_weights() with kMaxInputs; kUnsupported if
  ///         granularity is group; kShape if the codes do not fit the shape
  BitConvWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                 const numerics::BasisEncoding& encoding, std::span<const float> bias,
                 const numerics::Basis& x_basis);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const numerics::Basis& x_basis() const { return x_basis_; }
  [[nodiscard]] std::size_t x_bits() const { return static_cast<std::size_t>(x_basis_.bits); }
  /// The digits of the activations.
  [[nodiscard]] const std::vector<numerics::Digit>& digits() const { return digits_; }
  [[nodiscard]] std::size_t bits() const { return bits_; }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + floats_.size_bytes() + tables_.size_bytes();
  }

  /// Number of blocks of a group.
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  /// Number of pieces of a tap.
  [[nodiscard]] std::size_t tap_pieces() const { return tap_pieces_; }
  /// Number of pieces of all taps.
  [[nodiscard]] std::size_t pieces() const { return shape_.taps() * tap_pieces_; }
  /// The panel whose first block is `block`.
  [[nodiscard]] const std::uint8_t* panel(std::size_t group, std::size_t block) const {
    return planes_.as<std::uint8_t>().data() + (group * blocks_ + block) * block_bytes();
  }

  /// Whether each half of a piece has its own position, because a digit has two planes.
  [[nodiscard]] bool by_halves() const { return by_halves_; }
  /// Number of positions of a piece.
  [[nodiscard]] std::size_t num_positions() const { return by_halves_ ? 2 : 1; }
  /// The tables of a digit: by halves [second plane][first plane][16], else [byte][half][16].
  [[nodiscard]] const std::uint8_t* tables(std::size_t digit) const {
    return tables_.as<std::uint8_t>().data() + first_table_[digit];
  }

  /// The length of a row of floats for all blocks of all groups. The rows are: base [patterns],
  /// doubled products 2 u_d a_j [digits, Kw], offset c.
  [[nodiscard]] std::size_t float_row() const { return shape_.groups * blocks_ * kBlock; }
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return floats_.as<float>().data() + pattern * float_row();
  }
  [[nodiscard]] const float* products(std::size_t digit, std::size_t j) const {
    return base(patterns_.count() + digit * bits_ + j);
  }
  [[nodiscard]] const float* offsets() const {
    return base(patterns_.count() + digits_.size() * bits_);
  }

  /// The strip of codes as positions in the tables, zero outside the image: for each digit [pixels,
  /// pieces of a tap, num_positions()].
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// The offset of the positions of a digit, which are followed by padding for whole vectors.
  [[nodiscard]] std::size_t digit_positions(std::size_t digit) const {
    return digit * digit_positions_;
  }
  /// [pieces] the offset of each piece in the strip, relative to the first pixel of a window.
  [[nodiscard]] std::span<const std::uint32_t> inputs() const { return inputs_; }
  /// Bytes of scratch memory for a call of bit_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  /// Bytes of all columns of a block.
  [[nodiscard]] std::size_t block_bytes() const { return pieces() * bits_ * 2 * kBlock; }
  void make_tables();
  void pack_planes(const numerics::BitPlanes& codes);
  void pack_floats(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                   std::span<const float> bias);

  ConvShape shape_;
  numerics::Basis x_basis_;
  std::vector<numerics::Digit> digits_;
  bool by_halves_ = false;
  std::vector<std::size_t> first_table_;  ///< of each digit: bytes of the tables before
  PaddingPatterns patterns_;
  std::size_t bits_ = 0;
  std::size_t blocks_ = 0;
  std::size_t tap_pieces_ = 0;
  bool has_offset_ = false;
  ConvStrip strip_;
  std::size_t digit_positions_ = 0;
  std::vector<std::uint32_t> inputs_;
  AlignedBuffer tables_;
  AlignedBuffer planes_;
  AlignedBuffer floats_;
};

/// y[p, o] = sum over taps and channels of weights and activations, zero outside the image, plus
/// bias. A tap outside is computed with code 0, level q_0 = x_basis.value(0), and its contribution
/// is subtracted. With X the digits of the activations, w the planes of the weights as -1 and +1,
/// u_d the unit of a digit and, over the window of p, the exact integers D_dj = sum X_d w_j and
/// S_d = sum X_d:
///
///     base = bias + c' sum_k w_k - q_0 sum_(k outside) w_k        in float64, then rounded; each
///            sum from tap to tap, that of a tap m c + sum_j a_j T_j with m channels
///     acc = base;  for each digit d: for j < Kw: acc += (u_d a_j) D_dj
///     acc += c (sum_d u_d S_d)             if the weights have offsets; the sum from 0 up
///     acc += residual, then the limits     as finish says
///
/// in float32 where not said otherwise, in this order, without contraction. The result is the same,
/// bit for bit, on every target and for any division into ranges of lines.
/// @param x  [images, pixels, Kx, words] bit planes of the activations, as encode() writes
void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights,
              const ConvPart& part) noexcept;

/// Reference implementation of bit_conv() in plain loops over the canonical bit planes.
/// @param x  [images pixels, channels]
void bit_conv_reference(const ConvShape& shape, const EncodedInputs& x,
                        const EncodedWeights& weights, const ConvFinish& finish,
                        MatrixView<float> y);

}  // namespace halftone::kernels
