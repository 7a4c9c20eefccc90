// SPDX-License-Identifier: Apache-2.0
// In which sense the outputs of a layer should stay close when its weights are quantized.
#pragma once

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/compress/fit/algebra.h"
#include "halftone/types/defaults.hpp"

namespace halftone::compress {

/// What is added to second moments, so that few calibration data do not mislead a fit.
struct Damping {
  double channel = v0::kFitDamping;  ///< share of each input's own second moment, >= 0
  double uniform = 0.001;            ///< share of the mean second moment, >= 0

  bool operator==(const Damping&) const = default;
};

/// What a fit aims at.
struct FitTarget {
  Matrix weights;  ///< [o, n] w*
  Matrix product;  ///< [o, n] H w*
};

/// The metric of a layer's inputs q, and the factor that spreads errors:
///
///     H = M + D,  D = channel diag(M) + uniform mean(diag(M)) I,  H^-1 = U' U, U upper triangular,
///
/// for second moments M = E[q q']; the error of weights w -> v at an output is (w - v)' H (w - v).
/// Where the diagonal of H would be zero, for an input that is always zero without uniform damping,
/// it is the mean. Matrices of one input, such as queries, keys and values, share a metric. Inputs
/// that are rotated are damped by their channels before: add channel diag(M) to M, rotate the sum,
/// and let `channel` be 0. With float32 M is scaled by a power of two to a mean of the diagonal in
/// [1/2, 1), which changes no fit.
/// Memory: 16 n^2 bytes in float64, 8 n^2 in float32; while it is built, up to 24 n^2 bytes more.
/// @tparam T  float or double: the numbers in which fits compute
template <typename T>
class Metric {
 public:
  /// @param moments  [n, n] symmetric; only the diagonal and what is right of it are read
  /// @throws Error kShape unless the matrix is square; kUnsupported if a number is not finite, a
  ///         second moment is negative, or H is not positive definite; kUsage if damping is
  ///         negative or not finite
  static Metric of(MatrixView<const float> moments, const Damping& damping = {});
  static Metric of(MatrixView<const double> moments, const Damping& damping = {});
  /// Of moments less the product of means, which may be rounded below zero.
  /// @param moments  [n, n] symmetric
  /// @throws Error kUnsupported if H is not positive definite; kUsage as above
  static Metric of(Matrix moments, const Damping& damping);
  /// Of inputs without correlations: errors are not spread. Memory: 2 n numbers.
  /// @param moments  [n] second moments
  /// @throws Error kUnsupported and kUsage as the first
  static Metric diagonal(std::span<const float> moments, const Damping& damping = {});
  /// Of n inputs that are all alike: the squared error of the weights.
  static Metric identity(std::size_t inputs);

  [[nodiscard]] std::size_t inputs() const { return static_cast<std::size_t>(hessian_.cols()); }
  [[nodiscard]] bool is_diagonal() const { return is_diagonal_; }
  /// [n, n], or [1, n] if diagonal.
  [[nodiscard]] MatrixView<const T> hessian() const { return view(hessian_); }
  /// [n, n], or [1, n] if diagonal.
  [[nodiscard]] MatrixView<const T> factor() const { return view(factor_); }
  /// [n] the diagonal of M as it was given, but not below zero; empty: all alike.
  [[nodiscard]] const std::vector<float>& moments() const { return moments_; }

  /// Sets what the inputs q have in common with those of the float network, x. Without it they are
  /// the same. Memory: 8 n^2 bytes.
  /// @param cross  [n, n] E[q x'], not scaled. @pre float64, not diagonal
  void set_cross(Matrix cross) { cross_ = std::move(cross); }
  /// @throws Error kShape unless weights of so many columns have this metric
  void check_columns(std::size_t cols) const;

 private:
  friend FitTarget target_of(const Metric<double>& metric, MatrixView<const float> weights);
  using Numbers = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  static MatrixView<const T> view(const Numbers& all) {
    const auto cols = static_cast<std::size_t>(all.cols());
    return {all.data(), static_cast<std::size_t>(all.rows()), cols, cols};
  }

  bool is_diagonal_ = false;
  Numbers hessian_;
  Numbers factor_;
  std::vector<float> moments_;
  Vector ridge_;  ///< [n] the diagonal of D
  Matrix cross_;
};

/// The weights w* = H^-1 (E[q x'] w + D w), which bring the layer on its actual inputs q closest to
/// the float layer on x; without products if the metric is diagonal.
/// @param weights  [o, n] w
/// @throws Error kShape if the metric has another n
FitTarget target_of(const Metric<double>& metric, MatrixView<const float> weights);

}  // namespace halftone::compress
