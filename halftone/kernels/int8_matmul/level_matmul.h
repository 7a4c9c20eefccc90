// SPDX-License-Identifier: Apache-2.0
// Fully connected layer on encoded weights and 8-bit activations, through integer levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/encoded.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// The layout of the weights, which determines how they become levels.
enum class LevelLayout {
  /// A byte per weight: its level. Pieces of 4 inputs, in which each lane of a vector computes one
  /// output: for several rows of activations, which share the cost of reading the weights.
  kBytes,
  /// The same with levels without their common_factor(): for targets where prefers_small_levels(),
  /// with which the MNIST network in 4 even bits takes 0.75 of the time at 16 rows.
  kSmallBytes,
  /// Half a byte per weight: its code, looked up in a table of its output and group. Pieces of 32
  /// inputs, in which each 16 bytes of a vector compute one output: for one row of activations,
  /// where reading the weights takes most of the time: the MNIST network in 3 bits takes 0.9 of
  /// that
  /// with kBytes. At most 4 bits.
  kNibbles,
};

/// The faster one of kBytes and kSmallBytes on the current target.
LevelLayout preferred_byte_levels() noexcept;

/// Encoded weights [o, n] as level_matmul() reads them, on their weight_grid():
///
///     block 0:  group 0:  [pieces of the group]  [tables]  [floats]
///               group 1:  ...
///     block 1:  ...
///
///     bytes:    piece: [output 0 [level of input 0, 1, 2, 3], output 1 [...], ... output 31]
///     kNibbles: the pieces of outputs 0 to 7, those of outputs 8 to 15, ...
///               piece: [output 0 [codes of inputs 0 and 16, 1 and 17, ...], ... output 7]
///
/// Missing inputs and outputs are zero. The tables, of kNibbles, are [32, 16]: for each output the
/// levels of its codes. The floats are [1 or 2, 32]: half_step and, if there are offsets, center.
class LevelMatmulWeights : public Int8Weights {
 public:
  /// Upper bound of the bits with LevelLayout::kNibbles.
  static constexpr int kMaxNibbleBits = 4;
  static constexpr std::size_t kNibbleInputs = 32;
  static constexpr std::size_t kNibbleOutputs = 8;
  static constexpr std::size_t kTableBytes = 16;
  /// Inputs of a piece of LevelLayout::kBytes and kSmallBytes.
  static constexpr std::size_t kByteInputs = 4;

  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`, any granularity
  /// @param bias      [o], or empty for none
  /// @throws Error as check_weights() with kMaxInputs; kUnsupported if there are more bits than
  ///         the layout takes; kMemory as AlignedBuffer
  LevelMatmulWeights(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
                     std::span<const float> bias, LevelLayout layout);

  [[nodiscard]] LevelLayout layout() const { return layout_; }
  /// What the levels of kSmallBytes are to be multiplied by.
  [[nodiscard]] std::int32_t factor() const { return factor_; }
  [[nodiscard]] std::size_t size_bytes() const { return groups_.size_bytes() + output_bytes(); }

  /// Bytes of the pieces, tables and floats of a block and group.
  [[nodiscard]] std::size_t group_bytes() const { return group_bytes_; }
  /// The pieces of a block and group.
  [[nodiscard]] const std::uint8_t* pieces(std::size_t block, std::size_t group) const {
    return groups_.as<std::uint8_t>().data() + (block * num_groups() + group) * group_bytes_;
  }
  [[nodiscard]] const std::uint8_t* tables(std::size_t block, std::size_t group) const {
    return pieces(block, group) + piece_bytes_;
  }
  [[nodiscard]] const float* floats(std::size_t block, std::size_t group) const {
    return reinterpret_cast<const float*>(tables(block, group) + table_bytes_);
  }

 private:
  void pack(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding);
  void pack_group(const numerics::BitPlanes& codes, const LevelGrid& grid, std::size_t output,
                  std::size_t group);

  LevelLayout layout_;
  std::int32_t factor_ = 1;
  // Of a block and group:
  std::size_t piece_bytes_ = 0;
  std::size_t table_bytes_ = 0;
  std::size_t group_bytes_ = 0;  ///< in all
  AlignedBuffer groups_;
};

/// y[r, o] = dot product of activation row r and weight row o, the weights on their grids, plus
/// bias. With G the inputs of a group and, all exact integers, P = sum_(i in G) (2 u_i - steps) q_i
/// and Q = sum_(i in G) q_i, and all else in float32, in this order, without contraction:
///
///     acc = 0;  for each group G:  acc += half_step P
///                                  acc += center Q      if the weights have offsets
///     y = acc scale
///     y += offset acc', where acc' is acc for q_i = 1, if the activations have an offset
///     y += bias                                         if there is one
///
/// The result is the same, bit for bit, on every target and for every layout.
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void level_matmul(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept;

/// Reference implementation of level_matmul() in plain loops over the codes.
/// @param w     [o, n]
/// @param bias  [o], or empty for none
void level_matmul_reference(const Int8Rows& x, const numerics::BitPlanes& w,
                            const numerics::MatrixEncoding& w_encoding, std::span<const float> bias,
                            MatrixView<float> y);

/// level_matmul() for each layout of the weights. Arguments as there.
void level_matmul_bytes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

void level_matmul_nibbles(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                          MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
