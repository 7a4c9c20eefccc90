// SPDX-License-Identifier: Apache-2.0
// Convolution on bits: encoded pixels and encoded weights, of any stride, dilation, padding and
// grouping.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/encoded.h"
#include "halftone/numerics/basis.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// The layout of the bits of the weights, which determines how differences are looked up.
enum class BitConvLayout {
  /// Pieces of 8 channels. The strip of pixels holds positions in tables of 4 inputs, which all
  /// pixels share: 32 bytes that hold two tables of 16 entries.
  kTables,
  /// Pieces of 6 channels. The strip holds a table of 64 entries for each piece of a pixel, in
  /// which a vector looks up 4 columns. For processors that look up 64 bytes at once, AVX-512 with
  /// VBMI, where channels are few.
  kSixes,
  /// Pieces of 16 channels. The strip holds 4 tables of 16 entries for each, in which a vector
  /// looks up one column. For the same processors, where ResNet-20 takes 0.62 of the time of
  /// kTables
  /// in 2 bits, 0.73 in 1 bit.
  kFours,
};

/// The fastest layout for bit_conv() on the current target, for weights of some bits.
BitConvLayout preferred_bit_conv_layout(const ConvShape& shape, int bits);

/// Encoded weights [outputs, taps, channels / groups] as bit_conv() reads them. Outputs of a group
/// form blocks of 16, missing ones are zero, and up to four blocks form a panel, whose columns are
/// the planes of its blocks, plane 0 of each, then plane 1 ...; inputs form pieces of a few
/// channels of a tap, the last of a tap and of 64 channels with fewer:
///
///     group 0:  panel 0:  tap 0, piece 0:  columns 0, 1, ...
///                         tap 0, piece 1:  ...
///                         ...
///               panel 1:  ...
///     group 1:  ...
///
///     kTables:  a column, 32 bytes: the lower four bits of output 0, 1, ... 15, then the upper
///               four; where a digit has two planes, two columns, 64 bytes: the lower of both, then
///               the upper of both, and the last column alone if it has no partner
///     kSixes:   four columns, 64 bytes: the six bits of output 0 in each, of output 1 in each ...;
///               missing columns are zero
///     kFours:   a column, 64 bytes: for output 0 bits 0-3, 16 + bits 4-7, 32 + bits 8-11,
///               48 + bits 12-15, then for output 1 ...
///
/// Activations are processed digit by digit. With X the digits of some inputs, w their weights of a
/// plane as -1 and +1, and M the digit's reach, (n M - sum X w) / 2 is an integer in [0, n M] for n
/// inputs; if the digit is one plane, it is the number of differing bits. The codes of the inputs
/// select a table of this number for all w. So one look-up counts the differences of 4 or 6 inputs
/// for all outputs that a vector holds.
class BitConvWeights {
 public:
  /// With more inputs, the dot product of two planes would not fit 16 bits.
  static constexpr std::size_t kMaxInputs = 32767;
  static constexpr std::size_t kBlock = 16;
  static constexpr std::size_t kPanelBlocks = 4;
  /// No piece has channels on both sides of a multiple of this.
  static constexpr std::size_t kWordInputs = 64;
  /// Channels of a piece for kTables.
  static constexpr std::size_t kTablesInputs = 8;
  /// Of a vector of weights and of the tables of a piece, for kSixes and kFours.
  static constexpr std::size_t kVectorBytes = 64;

  /// @param shape    of the convolution
  /// @param weights  Kw planes; granularity tensor or channel
  /// @param x_basis  of the activations, Kx bits
  /// @throws Error as ConvShape::check() and check_weights() with kMaxInputs; kUnsupported if
  ///         granularity is group; kShape if the codes do not fit the shape
  BitConvWeights(const ConvShape& shape, const EncodedWeights& weights,
                 const numerics::Basis& x_basis, BitConvLayout layout);

  [[nodiscard]] BitConvLayout layout() const { return layout_; }
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
  /// Channels of a piece.
  [[nodiscard]] std::size_t piece_inputs() const;
  /// Number of pieces of some channels of a tap, from a multiple of 64 on.
  [[nodiscard]] std::size_t pieces_of(std::size_t channels) const;
  /// Number of pieces of a tap.
  [[nodiscard]] std::size_t tap_pieces() const { return tap_pieces_; }
  /// Number of pieces of all taps.
  [[nodiscard]] std::size_t pieces() const { return shape_.taps() * tap_pieces_; }
  /// Bytes of a piece of some columns of a panel.
  [[nodiscard]] std::size_t piece_bytes(std::size_t columns) const;
  /// The panel whose first block is `block`.
  [[nodiscard]] const std::uint8_t* panel(std::size_t group, std::size_t block) const {
    return planes_.as<std::uint8_t>().data() + panel_offset(group, block);
  }

  /// For kTables: whether each half of a piece has its own position, because a digit has two
  /// planes.
  [[nodiscard]] bool by_halves() const { return by_halves_; }
  /// For kTables: number of positions of a piece.
  [[nodiscard]] std::size_t num_positions() const { return by_halves_ ? 2 : 1; }
  /// The tables of a digit: for kTables by halves [second plane][first plane][16], else
  /// [byte][half][16]; for the others those of its planes, whose sum is that of the digit: for
  /// kSixes [planes][six bits][64], for kFours [planes][byte][half][16].
  [[nodiscard]] const std::uint8_t* tables(std::size_t digit) const {
    return tables_.as<std::uint8_t>().data() + first_table_[digit];
  }
  /// For kSixes and kFours: so many look-ups of a digit fit a byte.
  [[nodiscard]] std::size_t max_pieces(std::size_t digit) const;

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

  /// The strip of codes, zero outside the image: for each digit [pixels, pieces of a tap] of
  /// positions in the tables, num_positions() of 16 bits, or of tables, kVectorBytes.
  [[nodiscard]] const ConvStrip& strip() const { return strip_; }
  /// Bytes of a digit of a pixel of the strip.
  [[nodiscard]] std::size_t pixel_bytes() const;
  /// Where a digit begins in the strip, in bytes. Each is followed by padding for whole vectors.
  [[nodiscard]] std::size_t digit_bytes(std::size_t digit) const { return digit * digit_bytes_; }
  /// [pieces] the offset of each piece in the strip, relative to the first pixel of a window.
  [[nodiscard]] std::span<const std::uint32_t> inputs() const { return inputs_; }
  /// Bytes of scratch memory for a call of bit_conv().
  [[nodiscard]] std::size_t scratch_bytes() const;

 private:
  /// Bytes before a panel.
  [[nodiscard]] std::size_t panel_offset(std::size_t group, std::size_t block) const;
  void make_shared_tables();
  void make_plane_tables();
  void pack_planes(const numerics::BitPlanes& codes);
  /// The bits of a piece of a plane of an output.
  /// @param to       the piece of the panel
  /// @param column   of `columns`
  void pack_piece(std::uint64_t bits, std::size_t output, std::size_t column, std::size_t columns,
                  std::uint8_t* to) const;
  void pack_floats(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                   std::span<const float> bias);

  ConvShape shape_;
  numerics::Basis x_basis_;
  std::vector<numerics::Digit> digits_;
  BitConvLayout layout_;
  bool by_halves_ = false;
  std::vector<std::size_t> first_table_;  ///< of each digit: bytes of the tables before
  PaddingPatterns patterns_;
  std::size_t bits_ = 0;
  std::size_t blocks_ = 0;
  std::size_t tap_pieces_ = 0;
  bool has_offset_ = false;
  ConvStrip strip_;
  std::size_t digit_bytes_ = 0;
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

/// bit_conv() for BitConvLayout::kTables. Arguments as there.
void bit_conv_tables(const std::uint64_t* x, const BitConvWeights& weights,
                     const ConvPart& part) noexcept;

/// For BitConvLayout::kSixes and kFours.
void bit_conv_permutes(const std::uint64_t* x, const BitConvWeights& weights,
                       const ConvPart& part) noexcept;

/// Whether the current target looks up 64 entries of 8 bits at once.
bool permutes_bytes() noexcept;

}  // namespace halftone::kernels
