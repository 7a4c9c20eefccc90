// SPDX-License-Identifier: Apache-2.0
// Number systems whose parameters are learned by gradient descent.
#pragma once

#include <span>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/compress/reconstruct/rounded_weights.h"
#include "halftone/numerics/encoding.h"

namespace halftone::compress {

/// The Adam optimizer for a few parameters.
/// Source: Kingma, Ba, Adam, ICLR 2015 (arXiv:1412.6980), Algorithm 1; their default decay rates.
class Adam {
 public:
  explicit Adam(std::size_t size = 0) : first_(size), second_(size) {}
  /// Moves each parameter against its gradient by about `rate`.
  void step(std::span<float> numbers, std::span<const float> gradient, double rate);

 private:
  std::vector<double> first_;
  std::vector<double> second_;
  int steps_ = 0;
};

/// The levels of one block during learning: parameters of its number system, not rounded.
class LearnedLevels {
 public:
  LearnedLevels(ParameterSpace space, const numerics::Levels& levels);

  [[nodiscard]] const numerics::LevelTable& table() const { return table_; }
  /// The levels as a file stores them.
  [[nodiscard]] const numerics::Levels& levels() const { return levels_; }

  /// @param level_gradient  of the loss with respect to each level, ascending
  /// @param rate            learning rate of Adam, in distances of neighbouring levels
  void step(std::span<const double> level_gradient, double rate);

 private:
  void update_levels();

  ParameterSpace space_;
  std::vector<float> parameters_;
  numerics::Levels levels_;
  numerics::LevelTable table_;
  Adam adam_;
};

/// Weights that follow their gradient straight through to the nearest level: float values that
/// represent it, and levels that follow their own gradient.
class LearnedWeights : public RoundedWeights {
 public:
  /// @param weights  [rows, cols] of the float network: the start values, moved into the cells of
  ///                 `codes`
  LearnedWeights(const numerics::MatrixEncoding& encoding, const numerics::BitPlanes& codes,
                 std::span<const float> weights);

  /// Levels, at all times.
  [[nodiscard]] std::span<const float> values() const override { return values_; }
  void step(std::span<const float> gradient, const WeightStep& step) override;
  void round() override {}
  [[nodiscard]] numerics::MatrixEncoding encoding() const override;
  [[nodiscard]] numerics::BitPlanes codes() const override;

 private:
  void encode();

  std::vector<LearnedLevels> levels_;  ///< by block
  std::vector<float> latent_;
  std::vector<float> values_;
  std::vector<std::size_t> indices_;  ///< index of the level of each weight
  std::vector<double> first_;         ///< moments of Adam, for the latent values
  std::vector<double> second_;
  int steps_ = 0;
};

}  // namespace halftone::compress
