// SPDX-License-Identifier: Apache-2.0
// Encoded weights that are multiplied by 8-bit integers, and the grid of their levels.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::kernels {

/// The levels of a block on a grid: level ~ center + half_step (2 u - steps), u an integer from 0
/// to steps. If steps is a multiple of 2^K - 1, evenly spaced levels are on it exactly.
struct LevelGrid {
  float center = 0;     ///< of the lowest and the highest level; 0 without offset
  float half_step = 0;  ///< (highest - lowest) / (2 steps)
  std::array<std::uint8_t, std::size_t{1} << numerics::kMaxBits> u{};  ///< of each code

  LevelGrid() = default;
  /// Takes the nearest point of the grid for each level: within half_step. Codes of no number have
  /// u = 0.
  LevelGrid(const numerics::Levels& levels, int steps);
};

/// The levels of weights on a grid of MatrixEncoding::weight_steps(). Up to
/// numerics::kMaxSummedBits, levels that are sums of coefficients are sums of
/// numerics::integer_coefficients(): 2 u - steps = sum_j +-k_j. Then they can be multiplied bit by
/// bit, with the same integer results. Each other level is rounded to the nearest.
LevelGrid weight_grid(const numerics::Levels& levels);

/// The common factor of all levels u of weights on their grids of weight_steps(), if
/// these have at most 4 bits and are evenly spaced: u / factor is at most 15. Otherwise 1.
std::int32_t common_factor(const numerics::MatrixEncoding& encoding);

/// The levels of activations as 8-bit integers with a sign: level ~ offset + scale q, within
/// scale / 2, at most 1/480 of the range of the levels; exact if they are on a grid of at most 254
/// steps (255 for 8 bits), as evenly spaced ones are.
struct Int8Levels {
  float scale = 0;
  float offset = 0;
  std::array<std::int8_t, std::size_t{1} << numerics::kMaxBits>
      q{};  ///< of each code; -128 only for 8 bits

  explicit Int8Levels(const numerics::Levels& levels);
};

/// The extents of weights [o, n], their bias, and their products with activations that are all one.
/// A granularity of channel or tensor is one group of n inputs.
class Int8Weights {
 public:
  /// Outputs that are computed together; ranges of outputs start at multiples of it.
  static constexpr std::size_t kBlock = 32;
  /// With more inputs, a sum would not fit 32 bits.
  static constexpr std::size_t kMaxInputs = std::size_t{1} << 16;

  [[nodiscard]] std::size_t outputs() const { return outputs_; }
  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] std::size_t bits() const { return bits_; }
  [[nodiscard]] bool has_offset() const { return has_offset_; }
  /// Steps of the grid of the levels.
  [[nodiscard]] std::int32_t steps() const { return steps_; }
  [[nodiscard]] std::size_t num_blocks() const {
    return outputs_ / kBlock + (outputs_ % kBlock != 0);
  }
  [[nodiscard]] std::size_t num_groups() const { return num_groups_; }
  /// Inputs of a group; the last one may have fewer.
  [[nodiscard]] std::size_t group_inputs() const { return group_inputs_; }
  /// The first input of a group, and the end of its inputs.
  [[nodiscard]] std::size_t group_begin(std::size_t group) const { return group * group_inputs_; }
  [[nodiscard]] std::size_t group_end(std::size_t group) const {
    return std::min((group + 1) * group_inputs_, inputs_);
  }
  /// [32] of a block: acc of activations that are all one.
  [[nodiscard]] const float* totals(std::size_t block) const {
    return totals_.as<float>().data() + block * kBlock;
  }
  /// [32] of a block; null if there is none.
  [[nodiscard]] const float* bias(std::size_t block) const {
    return bias_.size_bytes() == 0 ? nullptr : bias_.as<float>().data() + block * kBlock;
  }

 protected:
  /// Starts without a bias, with totals of zero.
  /// @throws Error as check_weights() with kMaxInputs; kMemory as AlignedBuffer
  Int8Weights(const std::string& kernel, const numerics::BitPlanes& codes,
              const numerics::MatrixEncoding& encoding, std::span<const float> bias);

  /// The last step of packing: sets the totals to the product with ones, without a bias.
  /// @param multiply  plane_matmul or level_matmul
  template <typename Weights, typename Multiply>
  void finish(const Weights& weights, const Multiply& multiply, std::span<const float> bias) {
    const std::vector<std::int8_t> ones(inputs_, 1);
    const float scale[] = {1};
    multiply({MatrixView<const std::int8_t>(ones, 1, inputs_), scale}, weights, {0, num_blocks()},
             MatrixView<float>(totals_.as<float>().data(), 1, outputs_, outputs_));
    set_bias(bias);
  }
  /// Bytes of totals and bias.
  [[nodiscard]] std::size_t output_bytes() const {
    return totals_.size_bytes() + bias_.size_bytes();
  }

 private:
  void set_bias(std::span<const float> bias);

  std::size_t outputs_ = 0;
  std::size_t inputs_ = 0;
  std::size_t bits_ = 0;
  std::int32_t steps_ = 0;
  std::size_t num_groups_ = 0;
  std::size_t group_inputs_ = 0;
  bool has_offset_ = false;
  AlignedBuffer totals_;
  AlignedBuffer bias_;
};

}  // namespace halftone::kernels
