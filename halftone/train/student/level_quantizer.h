// SPDX-License-Identifier: Apache-2.0
// Numbers that stand for the nearest level of a basis that is learned along with them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/basis.h"
#include "halftone/train/student/level_rounding.h"

namespace halftone::train {

/// How the parameters of a number system follow the numbers that are encoded in it.
enum class LevelRule {
  kMovingAverage,  ///< towards the closed form for the codes of each step
  kGradient,       ///< down the gradient of the loss, dL/dp = sum over numbers of features dL/dx
};

struct LevelQuantizerOptions {
  LevelRule rule = LevelRule::kMovingAverage;
  double momentum = 0.9;  ///< share of the old parameters that a step keeps, of the moving average
  /// Whether numbers beyond the outer levels, by more than half a gap, get no gradient.
  bool clips = false;
  /// Factor on the gradient of the parameters, of LevelRule::kGradient; see step_gradient_scale().
  double gradient_scale = 1;
};

/// 1 / sqrt(n (2^K - 1)): makes the step of an affine quantizer of n numbers move about as fast, in
/// proportion, as the numbers do.
/// Source: Esser et al., Learned step size quantization, ICLR 2020 (arXiv:1902.08153), section 2.2,
/// which has the largest of signed codes, 2^(K-1) - 1, for weights.
double step_gradient_scale(std::size_t num_numbers, int bits);

/// One basis for each row of numbers.
///
///     forward    level(x), the nearest level of the row's basis, as a file would hold it
///     backward   dL/dx passes straight through
///
/// The moving average solves (sum_x f f') p' = sum_x f x over the features f of the codes and
/// moves p to momentum p + (1 - momentum) p'.
/// With affine or symmetric levels that follow the gradient this is learned step size quantization
/// (LSQ), with clipping at learned levels.
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), section 3.3 and Algorithm 1, for
/// the moving average; Bengio et al. 2013 (arXiv:1308.3432) for the gradient that passes straight
/// through. Differs: offsets and all schemes of ParameterSpace, and counts and sums of codes
/// instead of B'B and B'x: those of several devices add up exactly as their numbers would.
class LevelQuantizer {
 public:
  /// @param bases  to start from; their coefficients must be in the space
  LevelQuantizer(compress::ParameterSpace space, const std::vector<numerics::Basis>& bases,
                 const LevelQuantizerOptions& options = {});

  [[nodiscard]] std::size_t num_bases() const {
    return static_cast<std::size_t>(parameters_.size(0));
  }
  [[nodiscard]] const LevelQuantizerOptions& options() const { return options_; }

  /// The levels that numbers stand for. Several threads may call it at once.
  /// @param x  float32 [bases, n]; of any shape where there is one basis
  /// @return   of the same shape
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  /// Counts and sums of the same numbers; no gradient.
  [[nodiscard]] LevelSums sums(const at::Tensor& x) const;

  /// A step of the moving average. Bases that no number was encoded in stay as they are.
  void update(const LevelSums& sums);
  /// float32 [bases, parameters]; a leaf that wants a gradient with LevelRule::kGradient.
  [[nodiscard]] const at::Tensor& parameters() const { return parameters_; }
  /// To be called when parameters() were changed from outside.
  void refresh();
  /// The bases as files hold them.
  [[nodiscard]] const std::vector<numerics::Basis>& bases() const { return bases_; }
  /// The same, all levels of a basis times its factor.
  /// @param factors  float32 [bases]
  [[nodiscard]] std::vector<numerics::Basis> scaled_bases(const at::Tensor& factors) const;

 private:
  [[nodiscard]] at::Tensor rows_of(const at::Tensor& x) const;
  [[nodiscard]] std::vector<numerics::Basis> to_bases(const at::Tensor& parameters) const;

  compress::ParameterSpace space_;
  LevelQuantizerOptions options_;
  at::Tensor parameters_;  ///< float32 [bases, parameters]
  std::vector<numerics::Basis> bases_;
  std::shared_ptr<const LevelRounding> rounding_;  // with gradients that are still to be computed
};

}  // namespace halftone::train
