// SPDX-License-Identifier: Apache-2.0
// Step 1 of fitting: levels for a set of values, by alternating codes and parameters.
#pragma once

#include <span>

#include "halftone/compress/fit/parameters.h"

namespace halftone::compress {

/// How the parameters are computed from the codes.
enum class LevelSolver {
  kLeastSquares,  ///< the closed form of QEM
  kGradient,      ///< one gradient step with L2 penalty, as in the reference experiment
};

struct LevelFitOptions {
  LevelSolver solver = LevelSolver::kLeastSquares;
  int iterations = 50;          ///< maximum; stops earlier at a fixed point
  double learning_rate = 0.05;  ///< for kGradient, of the mean squared error
  double l2_penalty = 1e-4;     ///< for kGradient: lambda |p|^2 is added to the mean squared error
  /// Evenly spaced levels: iterates from the best of those over the range and parts of it alone.
  bool has_one_start = false;
};

struct LevelFit {
  numerics::Levels levels;
  double error = 0;  ///< sum of w (t - level(x))^2 with the rounded numbers
};

/// Fits levels so that the level each x encodes to is near its target t:
///
///     minimise sum_i w_i (t_i - level(x_i))^2,   level(x) the level nearest to x.
///
/// With t = x this is optimal scalar quantization in the number system. Alternates codes for fixed
/// parameters (sorted thresholds) and parameters for fixed codes (least squares). Starts from
/// levels over the range and parts of it, from greedy residuals, and from quantiles; with uneven
/// levels also from the best of many scales. The best result is kept. O(n log n) once, then O(2^K
/// (P^2 + log n)) per iteration. Scales that are powers of two are few, so each is tried: from the
/// largest that loses no number beyond the levels down to where the error has a minimum, at least
/// the next five. The largest of the best is kept.
/// @param x        [n] finite; none: one level at zero
/// @param targets  [n] or empty for t = x
/// @param weights  [n] >= 0, or empty for 1
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), Algorithm 1 (QEM).
/// Differs: an offset, weights, targets, several starts, and other schemes with the same algebra.
LevelFit fit_levels(const ParameterSpace& space, std::span<const float> x,
                    std::span<const float> targets, std::span<const float> weights,
                    const LevelFitOptions& options = {});

/// The same for a 2-bit basis whose coefficients have a ratio p : q that split_digits() joins,
/// p + q <= numerics::kMaxReach. Tries the ratios next to that of the free fit and keeps the better
/// result. Convolutions then count both planes at once.
/// @param free  the result of fit_levels() for two learned bits and the same values
LevelFit fit_small_ratio(const LevelFit& free, bool offset, std::span<const float> x,
                         std::span<const float> targets, const LevelFitOptions& options = {});

}  // namespace halftone::compress
