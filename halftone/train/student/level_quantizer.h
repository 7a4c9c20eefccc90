// SPDX-License-Identifier: Apache-2.0
// Quantization to the nearest level of a learned basis.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/basis.h"
#include "halftone/train/options/student_options.h"
#include "halftone/train/student/level_rounding.h"

namespace halftone::train {

/// 1 / sqrt(n (2^K - 1)): makes the relative updates of an affine quantizer's step about as large
/// as those of the n values.
/// Source: Esser et al., Learned step size quantization, ICLR 2020 (arXiv:1902.08153), section 2.2.
/// Differs: for weights they use the largest signed code, 2^(K-1) - 1.
double step_gradient_scale(std::size_t num_numbers, int bits);

/// Quantizes each row of values with its own basis.
///
///     forward    level(x), the nearest level of the row's basis, as stored in a file
///     backward   dL/dx passes straight through
///
/// The moving average solves (sum_x f f') p' = sum_x f x, where f are the features of the codes,
/// and sets p to momentum p + (1 - momentum) p'.
/// With affine or symmetric levels and kGradient this is learned step size quantization (LSQ), with
/// clipping at learned levels.
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), section 3.3 and Algorithm 1, for
/// the moving average; Bengio et al. 2013 (arXiv:1308.3432) for the straight-through gradient.
/// Differs: supports offsets and all schemes of ParameterSpace; collects counts and sums per code
/// instead of B'B and B'x, so that the statistics of several devices can be added.
class LevelQuantizer {
 public:
  /// @param bases  initial bases; their coefficients must be in the space
  LevelQuantizer(compress::ParameterSpace space, const std::vector<numerics::Basis>& bases,
                 const LevelQuantizerOptions& options = {});

  [[nodiscard]] std::size_t num_bases() const {
    return static_cast<std::size_t>(parameters_.size(0));
  }
  [[nodiscard]] const LevelQuantizerOptions& options() const { return options_; }

  /// The nearest level of each value. Several threads may call it at once.
  /// @param x  float32 [bases, n]; of any shape if there is one basis
  /// @return   of the same shape
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  /// Counts and sums of the values per code; no gradient.
  [[nodiscard]] LevelSums sums(const at::Tensor& x) const;

  /// Updates the moving average. Bases that encoded no value are unchanged.
  void update(const LevelSums& sums);
  /// float32 [bases, parameters]; a leaf that requires a gradient with LevelRule::kGradient.
  [[nodiscard]] const at::Tensor& parameters() const { return parameters_; }
  /// Must be called after the caller has changed parameters().
  void refresh();
  /// The bases as stored in files.
  [[nodiscard]] const std::vector<numerics::Basis>& bases() const { return bases_; }
  /// The bases, with all levels of each multiplied by its factor.
  /// @param factors  float32 [bases]
  [[nodiscard]] std::vector<numerics::Basis> scaled_bases(const at::Tensor& factors) const;

 private:
  [[nodiscard]] at::Tensor rows_of(const at::Tensor& x) const;
  [[nodiscard]] std::vector<numerics::Basis> to_bases(const at::Tensor& parameters) const;

  compress::ParameterSpace space_;
  LevelQuantizerOptions options_;
  at::Tensor parameters_;  ///< float32 [bases, parameters]
  std::vector<numerics::Basis> bases_;
  std::shared_ptr<const LevelRounding> rounding_;  // shared with pending backward passes
};

}  // namespace halftone::train
