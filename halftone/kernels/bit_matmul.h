// SPDX-License-Identifier: Apache-2.0
// Fully connected layer on bits: the product of encoded activations and encoded weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Outputs that the kernel computes together; ranges of outputs start at multiples of it.
inline constexpr std::size_t kOutputBlock = 8;

/// Encoded weights [o, n] in the layout of bit_matmul(). Eight outputs form a block and lie beside
/// each other word by word, so that each lane of a vector works for an output of its own:
///
///     block 0:  plane 0:     word 0 [output 0 ... 7]  word 1 [output 0 ... 7]  ...
///               ...
///               plane Kw-1
///     block 1:  ...                                  missing outputs of the last block are zero
///
/// and beside them, per block, the rows of eight floats the epilogue reads:
/// a_0 ... a_(Kw-1), the offset c, t = sum_j a_j T_j, the bias.
class BitMatmulWeights {
 public:
  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`; granularity tensor or channel
  /// @param bias      [o], or empty for none
  /// @throws Error kUnsupported if granularity is group (whoever has such weights decodes them),
  ///         or n exceeds 2^24 (a dot product would not be exact in float32);
  ///         kShape as BasisEncoding::check(), or if bits or the length of the bias differ
  BitMatmulWeights(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                   std::span<const float> bias = {});

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t bits() const { return bits_; }
  [[nodiscard]] std::size_t words() const { return words_; }
  [[nodiscard]] std::size_t num_blocks() const {
    return outputs_ / kOutputBlock + (outputs_ % kOutputBlock != 0);
  }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  [[nodiscard]] bool has_bias() const { return has_bias_; }
  [[nodiscard]] std::size_t size_bytes() const {
    return planes_.size_bytes() + floats_.size_bytes();
  }

  /// [Kw, words, 8] of a block.
  [[nodiscard]] const std::uint64_t* planes(std::size_t block) const {
    return planes_.as<std::uint64_t>().data() + block * bits_ * words_ * kOutputBlock;
  }
  /// [Kw + 3, 8] of a block: a, c, t, bias.
  [[nodiscard]] const float* floats(std::size_t block) const {
    return floats_.as<float>().data() + block * (bits_ + 3) * kOutputBlock;
  }

 private:
  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::size_t bits_ = 0;
  std::size_t words_ = 0;
  bool has_offset_ = false;
  bool has_bias_ = false;
  AlignedBuffer planes_;
  AlignedBuffer floats_;
};

/// Blocks [begin, end) of outputs: the share of one caller.
struct BlockRange {
  std::size_t begin = 0;
  std::size_t end = 0;
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
/// The result is the same, bit for bit, on every target.
/// @param x        [m, Kx, words] bit planes of the activations, as encode() writes them
/// @param x_basis  of all activations; Kx = x_basis.bits
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void bit_matmul(std::span<const std::uint64_t> x, const numerics::Basis& x_basis,
                const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) noexcept;

/// The definition of bit_matmul(), in plain loops over the canonical bit planes.
/// @param x     [m, n]
/// @param w     [o, n]
/// @param bias  [o], or empty for none
/// @param y     [m, o]
void bit_matmul_reference(const numerics::BitPlanes& x, const numerics::Basis& x_basis,
                          const numerics::BitPlanes& w, const numerics::BasisEncoding& w_encoding,
                          std::span<const float> bias, MatrixView<float> y);

}  // namespace halftone::kernels
