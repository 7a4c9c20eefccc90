// SPDX-License-Identifier: Apache-2.0
// What the ways to learn a rounding have in common.
#pragma once

#include <span>

#include "halftone/numerics/encoding.h"

namespace halftone::compress {

/// Default learning rates of weights, straight through and adaptive.
inline constexpr double kStraightThroughRate = 0.004;
inline constexpr double kAdaptiveRate = 0.03;

/// Settings of a step of gradient descent on the weights of a layer.
struct WeightStep {
  double weight_rate = 0;  ///< learning rate of Adam, in distances of neighbouring levels
  double level_rate = 0;   ///< the same for levels, if they are learned
  double penalty = 0;      ///< factor of the rounding penalty, if there is one
  double progress = 0;     ///< share of the steps before this one, 0 <= progress < 1
};

/// The weights of one layer while the rounding of each weight is learned.
class RoundedWeights {
 public:
  RoundedWeights(const numerics::MatrixEncoding& format, std::size_t rows, std::size_t cols)
      : format_(format), rows_(rows), cols_(cols) {}
  RoundedWeights(const RoundedWeights&) = delete;
  RoundedWeights& operator=(const RoundedWeights&) = delete;
  virtual ~RoundedWeights() = default;

  /// The weights that the layer multiplies with, [rows * cols]; after round() they are levels.
  [[nodiscard]] virtual std::span<const float> values() const = 0;
  /// @param gradient  [rows * cols] of the loss with respect to each of values()
  virtual void step(std::span<const float> gradient, const WeightStep& step) = 0;
  /// Rounds values() to levels; no step follows.
  virtual void round() = 0;
  /// Levels and codes that values() are rounded to.
  [[nodiscard]] virtual numerics::MatrixEncoding encoding() const = 0;
  [[nodiscard]] virtual numerics::BitPlanes codes() const = 0;

 protected:
  [[nodiscard]] const numerics::MatrixEncoding& format() const { return format_; }
  [[nodiscard]] std::size_t rows() const { return rows_; }
  [[nodiscard]] std::size_t cols() const { return cols_; }
  /// Calls visit(block, first, count) for every run of weights of one block.
  template <typename Visit>
  void for_each_run(Visit&& visit) const {
    numerics::for_each_block(format_, rows_, cols_,
                             [&](std::size_t block, std::size_t row, std::size_t col,
                                 std::size_t count) { visit(block, row * cols_ + col, count); });
  }

 private:
  numerics::MatrixEncoding format_;
  std::size_t rows_;
  std::size_t cols_;
};

}  // namespace halftone::compress
