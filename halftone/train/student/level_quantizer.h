// SPDX-License-Identifier: Apache-2.0
// Quantization to the nearest level of a number system whose numbers are learned.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/compress/fit/parameters.h"
#include "halftone/numerics/levels.h"
#include "halftone/train/options/student_options.h"
#include "halftone/train/student/level_rounding.h"

namespace halftone::train {

/// 1 / sqrt(n (2^K - 1)): makes the relative updates of an affine quantizer's step about as large
/// as those of the n values.
/// Source: Esser et al., Learned step size quantization, ICLR 2020 (arXiv:1902.08153), section 2.2.
/// Differs: for weights they use the largest signed code, 2^(K-1) - 1.
double step_gradient_scale(std::size_t num_numbers, int bits);

/// Quantizes each row of values with its own levels.
///
///     forward    level(x), the nearest level of the row, as stored in a file
///     backward   dL/dx passes straight through
///
/// The moving average solves (sum_x f f') p' = sum_x f x, where f are the features of the codes,
/// and sets p to momentum p + (1 - momentum) p'.
/// With affine or symmetric levels and kGradient this is learned step size quantization (LSQ), with
/// clipping at learned levels.
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), section 3.3 and Algorithm 1, for
/// the moving average; Bengio et al. 2013 (arXiv:1308.3432) for the straight-through gradient.
/// Differs: supports offsets and all number systems of ParameterSpace; collects counts and sums per
/// code instead of B'B and B'x, so that the statistics of several devices can be added.
class LevelQuantizer {
 public:
  /// @param levels  of each row at first; those of the space that are nearest to them
  LevelQuantizer(compress::ParameterSpace space, const std::vector<numerics::Levels>& levels,
                 const LevelQuantizerOptions& options = {});
  /// The rows of an encoding: its blocks.
  LevelQuantizer(const numerics::MatrixEncoding& encoding, compress::ParameterSpace space,
                 const LevelQuantizerOptions& options);

  [[nodiscard]] const compress::ParameterSpace& space() const { return space_; }
  [[nodiscard]] std::size_t num_rows() const {
    return static_cast<std::size_t>(parameters_.size(0));
  }
  [[nodiscard]] const LevelQuantizerOptions& options() const { return options_; }

  /// The nearest level of each value. Several threads may call it at once.
  /// @param x  float32 [rows, n]; of any shape if there is one row
  /// @return   of the same shape
  [[nodiscard]] at::Tensor forward(const at::Tensor& x) const;
  /// Counts and sums of the values per code; no gradient.
  [[nodiscard]] LevelSums sums(const at::Tensor& x) const;

  /// Updates the moving average. Rows that encoded no value are unchanged.
  void update(const LevelSums& sums);
  /// float32 [rows, parameters]; a leaf that requires a gradient with LevelRule::kGradient.
  [[nodiscard]] const at::Tensor& parameters() const { return parameters_; }
  /// Must be called after the caller has changed parameters().
  void refresh();
  /// The levels of each row, as stored in files.
  [[nodiscard]] const std::vector<numerics::Levels>& levels() const { return levels_; }
  /// The same, with all levels of a row multiplied by its factor.
  /// @param factors  float32 [rows]
  [[nodiscard]] std::vector<numerics::Levels> scaled_levels(const at::Tensor& factors) const;

 private:
  [[nodiscard]] at::Tensor rows_of(const at::Tensor& x) const;
  [[nodiscard]] std::vector<numerics::Levels> to_levels(const at::Tensor& parameters) const;

  compress::ParameterSpace space_;
  LevelQuantizerOptions options_;
  at::Tensor parameters_;  ///< float32 [rows, parameters]
  std::vector<numerics::Levels> levels_;
  std::shared_ptr<const LevelRounding> rounding_;  // shared with pending backward passes
};

}  // namespace halftone::train
