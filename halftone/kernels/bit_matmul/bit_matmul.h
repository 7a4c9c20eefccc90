// SPDX-License-Identifier: Apache-2.0
// Fully connected layer on bits: the product of encoded activations and encoded weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/encoded.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// The memory layout of BitMatmulWeights, which determines how bits are counted. Outputs form
/// blocks and are interleaved piece by piece within a block, so that each lane of a vector computes
/// one output; outputs missing in the last block are zero.
enum class BitLayout {
  /// Blocks of 8 outputs, pieces of 64 inputs: xor and popcount. For processors with a vector
  /// popcount instruction.
  kWords,
  /// Blocks of 32 outputs, pieces of 8 inputs: two look-ups in tables of 16 bytes, built from the
  /// activations. For processors without a vector popcount, which would need look-ups anyway: with
  /// AVX2 the MNIST network in 1 or 2 bits takes 0.86 of the time.
  kLookup,
};

/// Pieces of BitLayout::kLookup that are looked up in one step; the last ones may be padding.
inline constexpr std::size_t kLookupStep = 4;

/// The fastest layout for bit_matmul() on the current target.
BitLayout preferred_bit_layout(std::size_t outputs, std::size_t inputs);

/// Encoded weights [o, n] as bit_matmul() reads them:
///
///     block 0:  plane 0:     piece 0 [output 0, 1, ...]  piece 1 [output 0, 1, ...]  ...
///               ...
///               plane Kw-1
///     block 1:  ...
///
/// and, per block, the rows of floats that the epilogue reads: a_0 ... a_(Kw-1), the offset c,
/// t = sum_j a_j T_j, the bias.
class BitMatmulWeights {
 public:
  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`; granularity tensor or channel
  /// @param bias      [o], or empty for none
  /// @throws Error kUnsupported if granularity is group (the caller decodes such weights) or n
  ///         exceeds 2^24 (a dot product would not be exact in float32);
  ///         kShape as MatrixEncoding::check(), or if bits or the length of the bias differ
  BitMatmulWeights(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                   std::span<const float> bias, BitLayout layout);

  [[nodiscard]] BitLayout layout() const { return layout_; }
  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t bits() const { return bits_; }
  /// 64-bit words of a plane of activations.
  [[nodiscard]] std::size_t words() const { return words_; }
  /// Outputs that the kernel computes together; ranges of outputs start at multiples of it.
  [[nodiscard]] std::size_t block_outputs() const { return layout_ == BitLayout::kWords ? 8 : 32; }
  [[nodiscard]] std::size_t num_blocks() const {
    return outputs_ / block_outputs() + (outputs_ % block_outputs() != 0);
  }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  [[nodiscard]] bool has_bias() const { return has_bias_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + floats_.size_bytes();
  }

  /// [Kw, plane_bytes()] of a block: pieces of all its outputs, one after the other.
  [[nodiscard]] const std::byte* planes(std::size_t block) const {
    return planes_.as<std::byte>().data() + block * bits_ * plane_bytes();
  }
  /// Bytes of a plane of a block.
  [[nodiscard]] std::size_t plane_bytes() const { return pieces() * piece_bytes(); }
  /// [Kw + 3, block_outputs()] of a block: a, c, t, bias.
  [[nodiscard]] const float* floats(std::size_t block) const {
    return floats_.as<float>().data() + block * (bits_ + 3) * block_outputs();
  }

 private:
  [[nodiscard]] std::size_t pieces() const {
    if (layout_ == BitLayout::kWords) return words_;
    constexpr std::size_t kStepInputs = 8 * kLookupStep;
    return (inputs_ / kStepInputs + (inputs_ % kStepInputs != 0)) * kLookupStep;
  }
  /// Bytes of a piece of all outputs of a block.
  [[nodiscard]] std::size_t piece_bytes() const {
    return block_outputs() * (layout_ == BitLayout::kWords ? sizeof(std::uint64_t) : 1);
  }
  void pack_planes(const numerics::BitPlanes& codes);
  void pack_floats(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                   std::span<const float> bias);

  BitLayout layout_ = BitLayout::kWords;
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::size_t bits_ = 0;
  std::size_t words_ = 0;
  bool has_offset_ = false;
  bool has_bias_ = false;
  AlignedBuffer planes_;
  AlignedBuffer floats_;
};

/// y[r, o] = dot product of activation row r and weight row o, plus bias.
/// With D_ij = n - 2 popcount(x_i xor w_j), S_i = 2 popcount(x_i) - n, T_j = 2 popcount(w_j) - n,
/// exact integers, and all else in float32, in this order, without contraction:
///
///     acc = 0;  for i < Kx: for j < Kw: acc += (ax_i aw_j) D_ij
///     acc += cw ((sum_i ax_i S_i) + n cx)      if the weights have offsets; the sum from 0 up
///     acc += cx (sum_j aw_j T_j)               if cx != 0
///     acc += bias                              if there is one
///
/// The result is the same, bit for bit, on every target and for every layout.
/// @param x        [m, Kx, words] bit planes of the activations, as encode() writes them
/// @param x_basis  of all activations; Kx = x_basis.bits
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void bit_matmul(std::span<const std::uint64_t> x, const numerics::Basis& x_basis,
                const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) noexcept;

/// Reference implementation of bit_matmul() in plain loops over the canonical bit planes.
/// @param x        [m, n]
/// @param weights  [o, n]
/// @param y        [m, o]
void bit_matmul_reference(const EncodedInputs& x, const EncodedWeights& weights,
                          MatrixView<float> y);

/// bit_matmul() for each layout of the weights. Arguments as there.
void bit_matmul_words(const std::uint64_t* x, const numerics::Basis& x_basis,
                      const BitMatmulWeights& weights, BlockRange blocks,
                      MatrixView<float> y) noexcept;

void bit_matmul_lookup(const std::uint64_t* x, const numerics::Basis& x_basis,
                       const BitMatmulWeights& weights, BlockRange blocks,
                       MatrixView<float> y) noexcept;

/// Whether the current target counts bits by looking them up.
bool lookup_beats_popcount() noexcept;

}  // namespace halftone::kernels
