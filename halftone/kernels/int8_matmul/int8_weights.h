// SPDX-License-Identifier: Apache-2.0
// The common base of PlaneMatmulWeights and LevelMatmulWeights.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

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
