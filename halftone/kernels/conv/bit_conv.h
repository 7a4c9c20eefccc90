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
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights [outputs, taps, channels / groups] as bit_conv() reads them. Outputs of a group
/// form blocks of 16, missing ones are zero, and up to four blocks form a panel; inputs form pieces
/// of 8 channels of a tap, the last of a tap with fewer:
///
///     group 0:  panel 0:  tap 0, piece 0:  plane 0 [block 0, ... block 3]  ... plane Kw-1 [...]
///                         tap 0, piece 1:  ...
///                         ...
///               panel 1:  ...
///     group 1:  ...
///
///     block of a piece, 32 bytes: the lower four bits of output 0, 1, ... 15, then the upper four
///
/// A byte of activations names two tables of 16 numbers, which stand beside each other: in how many
/// bits its lower, and its upper half differ from each number of four bits. So one look-up per
/// vector of 32 bytes counts the differences of 8 inputs and 16 outputs.
class BitConvWeights {
 public:
  /// Beyond, the dot product of two planes would not fit 16 bits.
  static constexpr std::size_t kMostInputs = 32767;
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kPanelBlocks = 4;
  static constexpr std::size_t kPieceInputs = 8;
  /// Pieces whose counts of at most four fit a byte.
  static constexpr std::size_t kRun = 63;

  /// @param shape     of the convolution
  /// @param codes     [outputs, inputs of an output], Kw planes
  /// @param encoding  of `codes`; granularity tensor or channel
  /// @param bias      [outputs], or empty for none
  /// @param x_basis   of the activations, Kx bits
  /// @throws Error as ConvShape::check() and check_weights() with kMostInputs; kUnsupported if
  ///         granularity is group; kShape if the codes do not fit the shape
  BitConvWeights(const ConvShape& shape, const numerics::BitPlanes& codes,
                 const numerics::BasisEncoding& encoding, std::span<const float> bias,
                 const numerics::Basis& x_basis);

  [[nodiscard]] const ConvShape& shape() const { return shape_; }
  [[nodiscard]] const numerics::Basis& x_basis() const { return x_basis_; }
  [[nodiscard]] std::size_t x_bits() const { return static_cast<std::size_t>(x_basis_.bits); }
  [[nodiscard]] std::size_t bits() const { return bits_; }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  [[nodiscard]] const PaddingPatterns& patterns() const { return patterns_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + floats_.size_bytes();
  }

  /// Blocks of a group.
  [[nodiscard]] std::size_t blocks() const { return blocks_; }
  /// Pieces of a tap.
  [[nodiscard]] std::size_t tap_pieces() const { return tap_pieces_; }
  /// Of all taps.
  [[nodiscard]] std::size_t pieces() const { return shape_.taps() * tap_pieces_; }
  /// The panel whose first block is `block`.
  [[nodiscard]] const std::uint8_t* panel(std::size_t group, std::size_t block) const {
    return planes_.as<std::uint8_t>().data() + (group * blocks_ + block) * block_bytes();
  }

  /// Numbers of all blocks of all groups, in rows: base [patterns], doubled products 2 a'_i a_j
  /// [Kx, Kw], offset c.
  [[nodiscard]] std::size_t float_row() const { return shape_.groups * blocks_ * kBlock; }
  [[nodiscard]] const float* base(std::size_t pattern) const {
    return floats_.as<float>().data() + pattern * float_row();
  }
  [[nodiscard]] const float* products(std::size_t i, std::size_t j) const {
    return base(patterns_.count() + i * bits_ + j);
  }
  [[nodiscard]] const float* offsets() const { return base(patterns_.count() + x_bits() * bits_); }

  /// Of codes as positions in the tables, zero outside the image: per plane of the activations
  /// [pixels, pieces of a tap].
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// From a plane of the strip to the next, with some room for vectors that end beyond it.
  [[nodiscard]] std::size_t plane_positions() const { return plane_positions_; }
  /// [pieces] where in the strip a piece lies, from the first pixel of a window on.
  [[nodiscard]] std::span<const std::uint32_t> inputs() const { return inputs_; }
  /// Of the memory that a call of bit_conv() works in.
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  /// Of all planes of a block.
  [[nodiscard]] std::size_t block_bytes() const { return pieces() * bits_ * 2 * kBlock; }
  void pack_planes(const numerics::BitPlanes& codes);
  void pack_floats(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                   std::span<const float> bias);

  ConvShape shape_;
  numerics::Basis x_basis_;
  PaddingPatterns patterns_;
  std::size_t bits_ = 0;
  std::size_t blocks_ = 0;
  std::size_t tap_pieces_ = 0;
  bool has_offset_ = false;
  ConvStrip strip_;
  std::size_t plane_positions_ = 0;
  std::vector<std::uint32_t> inputs_;
  AlignedBuffer planes_;
  AlignedBuffer floats_;
};

/// y[p, o] = sum over taps and channels of weights and activations, zero outside the image, plus
/// bias. A tap outside is computed with code 0, level q_0 = x_basis.value(0), whose share is taken
/// back. With D_ij = n - 2 popcount(x_i xor w_j) over the window of p, S_i = 2 popcount(x_i) - n,
/// exact integers, n = inputs of an output:
///
///     base = bias + c' sum_k w_k - q_0 sum_(k outside) w_k        in float64, then rounded; each
///            sum from tap to tap, that of a tap m c + sum_j a_j T_j with m channels
///     acc = base;  for i < Kx: for j < Kw: acc += (a'_i a_j) D_ij
///     acc += c (sum_i a'_i S_i)            if the weights have offsets; the sum from 0 up
///     acc += residual, then the limits     as finish says
///
/// in float32 where not said otherwise, in this order, without contraction. The result is the same,
/// bit for bit, on every target and for any division into ranges of lines.
/// @param x        [images, pixels, Kx, words] bit planes of the activations, as encode() writes
/// @param lines    which lines to compute
/// @param scratch  [weights.scratch_bytes()], aligned to 64
/// @param y        [num_pixels, outputs]; only the pixels of `lines` are written
void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights, LineRange lines,
              const ConvFinish& finish, std::span<std::byte> scratch, MatrixView<float> y) noexcept;

/// The definition of bit_conv(), in plain loops over the canonical bit planes.
/// @param x     [images pixels, channels]
/// @param w     [outputs, inputs of an output]
/// @param bias  [outputs], or empty for none
void bit_conv_reference(const ConvShape& shape, const numerics::BitPlanes& x,
                        const numerics::Basis& x_basis, const numerics::BitPlanes& w,
                        const numerics::BasisEncoding& w_encoding, std::span<const float> bias,
                        const ConvFinish& finish, MatrixView<float> y);

}  // namespace halftone::kernels
