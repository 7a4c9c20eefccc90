// SPDX-License-Identifier: Apache-2.0
// AdaRound: learns for each weight which of its two neighbouring levels it takes.
#pragma once

#include <span>
#include <vector>

#include "halftone/compress/reconstruct/learned_levels.h"
#include "halftone/compress/reconstruct/rounded_weights.h"

namespace halftone::compress {

/// h(v) = min(max(1.2 / (1 + e^-v) - 0.1, 0), 1), which reaches 0 and 1.
/// Source: Nagel et al., AdaRound, ICML 2020 (arXiv:2004.10568), Eq. 23, with zeta = 1.1 and
/// gamma = -0.1: the rectified sigmoid of Louizos et al., ICLR 2018 (arXiv:1712.01312).
double rectified_sigmoid(double v);
/// Its derivative; 0 where h is 0 or 1.
double rectified_sigmoid_slope(double v);
/// The v with h(v) = share. @pre 0 <= share <= 1
double inverse_rectified_sigmoid(double share);

/// 1 - |2 h - 1|^exponent, which is 0 for h = 0 and h = 1 only.
/// Source: AdaRound, Eq. 24, for one weight.
double rounding_penalty(double h, double exponent);
/// Its derivative with respect to h.
double rounding_penalty_slope(double h, double exponent);
/// The exponent by the share of steps done: none for the first fifth, then from 20 down to 2 along
/// a cosine.
/// @return  0: no penalty yet
double rounding_exponent(double progress);

/// Weights between their two neighbouring levels: w~ = low + (high - low) h(v), where low <= w <
/// high are the levels of the number system around the float weight w. The variables v follow the
/// gradient; levels stay as they are. Weights beyond the outer levels take these.
///
/// At the start, h is the share of (high - low) that w lies above low, so w~ = w. At the end, h is
/// rounded to 0 or 1. Memory: 36 bytes a weight.
/// Source: Nagel et al., AdaRound, ICML 2020 (arXiv:2004.10568), Eq. 21 to 25. Differs: levels of
/// any number system instead of multiples of a step size.
class AdaptiveRounding : public RoundedWeights {
 public:
  /// @param encoding  the levels
  /// @param weights   [rows, cols] of the float network
  AdaptiveRounding(const numerics::MatrixEncoding& encoding, std::size_t rows, std::size_t cols,
                   std::span<const float> weights);

  [[nodiscard]] std::span<const float> values() const override { return values_; }
  /// A step of Adam for the variables. Its learning rate is such that h moves by about
  /// `step.weight_rate` from 1/2.
  void step(std::span<const float> gradient, const WeightStep& step) override;
  void round() override;
  [[nodiscard]] numerics::MatrixEncoding encoding() const override { return format(); }
  [[nodiscard]] numerics::BitPlanes codes() const override;

  /// v, [rows * cols]; 0 for weights beyond the outer levels.
  [[nodiscard]] std::span<const float> variables() const { return variables_; }
  /// d(loss + step.penalty * sum of rounding_penalty(h, rounding_exponent(step.progress))) / dv.
  /// @param gradient  [rows * cols] of the loss with respect to each of values()
  /// @return          [rows * cols]; 0 for weights beyond the outer levels
  [[nodiscard]] std::vector<float> variable_gradient(std::span<const float> gradient,
                                                     const WeightStep& step) const;

 private:
  void update_values();

  std::vector<numerics::LevelTable> tables_;  ///< by block
  std::vector<std::size_t> low_;              ///< index of the level below each weight
  std::vector<float> gaps_;                   ///< to the level above; 0 beyond the outer levels
  std::vector<float> variables_;
  std::vector<float> values_;
  Adam adam_;
};

}  // namespace halftone::compress
