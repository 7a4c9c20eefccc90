// SPDX-License-Identifier: Apache-2.0
// Fully connected layer on encoded weights and 8-bit activations through levels of 8 bits: the way
// for many rows or many bits, where one pass per bit plane would take longer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/kernels/block_range.h"
#include "halftone/kernels/int8_matmul/int8_rows.h"
#include "halftone/kernels/int8_matmul/level_grid.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights [o, n] as level_matmul() reads them: the integers of a LevelGrid
/// of weight_steps(),
///
///     block 0:  group 0:  piece 0 [output 0 [input 0, 1, 2, 3], output 1 [...], ...]  piece 1 ...
///               group 1:  ...
///     block 1:  ...
///
/// A piece is 4 inputs of the 32 outputs of a block; missing ones are zero. A granularity of
/// channel or tensor is one group of n inputs. Beside them, in the order group, block: the rows of
/// floats half_step and, if there are offsets, center.
class LevelMatmulWeights {
 public:
  /// Outputs that are computed together; ranges of outputs start at multiples of it.
  static constexpr std::size_t kBlock = 32;
  /// Inputs of a piece.
  static constexpr std::size_t kPiece = 4;
  /// Beyond, a sum would not fit 32 bits.
  static constexpr std::size_t kMostInputs = std::size_t{1} << 16;

  /// @param codes     [o, n], Kw planes
  /// @param encoding  of `codes`, any granularity
  /// @param bias      [o], or empty for none
  /// @throws Error as check_weights() with kMostInputs; kShape if the memory cannot be had
  LevelMatmulWeights(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding,
                     std::span<const float> bias = {});

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  /// Of the grid.
  [[nodiscard]] std::int32_t steps() const { return steps_; }
  [[nodiscard]] bool has_center() const { return has_center_; }
  [[nodiscard]] std::size_t num_blocks() const {
    return outputs_ / kBlock + (outputs_ % kBlock != 0);
  }
  [[nodiscard]] std::size_t size_bytes() const {
    return levels_.size_bytes() + floats_.size_bytes() + totals_.size_bytes() + bias_.size_bytes();
  }

  [[nodiscard]] std::size_t num_groups() const { return num_groups_; }
  /// Inputs of a group; the last one may have fewer.
  [[nodiscard]] std::size_t group_inputs() const { return group_inputs_; }
  /// [pieces of the group, 32, 4]
  [[nodiscard]] const std::uint8_t* levels(std::size_t block, std::size_t group) const {
    return levels_.as<std::uint8_t>().data() +
           (block * num_groups_ + group) * group_pieces_ * kBlock * kPiece;
  }
  /// [1 or 2, 32] of a group and block: half_step, center.
  [[nodiscard]] const float* floats(std::size_t group, std::size_t block) const {
    return floats_.as<float>().data() + (group * num_blocks() + block) * float_rows() * kBlock;
  }
  /// [32] of a block: acc of activations that are all one.
  [[nodiscard]] const float* totals(std::size_t block) const {
    return totals_.as<float>().data() + block * kBlock;
  }
  /// [32] of a block; null if there is none.
  [[nodiscard]] const float* bias(std::size_t block) const {
    return bias_.size_bytes() == 0 ? nullptr : bias_.as<float>().data() + block * kBlock;
  }

 private:
  [[nodiscard]] std::size_t float_rows() const { return has_center_ ? 2 : 1; }
  void pack(const numerics::BitPlanes& codes, const numerics::BasisEncoding& encoding);

  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::size_t num_groups_ = 0;
  std::size_t group_inputs_ = 0;
  std::size_t group_pieces_ = 0;
  std::int32_t steps_ = 0;
  bool has_center_ = false;
  AlignedBuffer levels_;
  AlignedBuffer floats_;
  AlignedBuffer totals_;
  AlignedBuffer bias_;
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
/// The result is the same, bit for bit, on every target.
/// @param blocks   which blocks of outputs to compute, within weights.num_blocks()
/// @param y        [m, o]; only the columns of `blocks` are written
void level_matmul(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept;

/// The definition of level_matmul(), in plain loops over the codes.
/// @param w     [o, n]
/// @param bias  [o], or empty for none
void level_matmul_reference(const Int8Rows& x, const numerics::BitPlanes& w,
                            const numerics::BasisEncoding& w_encoding, std::span<const float> bias,
                            MatrixView<float> y);

}  // namespace halftone::kernels
