// SPDX-License-Identifier: Apache-2.0
// In which sense the outputs of a layer should stay close when its weights are quantized.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/base/buffer.h"
#include "halftone/base/view.h"

namespace halftone::compress {

/// What is added to second moments, so that few calibration data do not mislead a fit.
struct Damping {
  double channel = 0.05;   ///< share of each input's own second moment, >= 0
  double uniform = 0.001;  ///< share of the mean second moment, >= 0
};

/// The metric of a layer's inputs, and the factor that spreads errors:
///
///     H = M + channel diag(M) + uniform mean(diag(M)) I,    H^-1 = U' U, U upper triangular,
///
/// for second moments M = E[x x']; the error of weights w -> q at an output is (w - q)' H (w - q).
/// M is scaled by a power of two to a mean of the diagonal in [1/2, 1), which changes no fit. Where
/// the diagonal of H would be zero, for an input that is always zero without uniform damping, it is
/// the mean. Matrices of one input, such as queries, keys and values, share a metric. Inputs that
/// are rotated are damped by their channels before: add channel diag(M) to M, rotate the sum, and
/// let `channel` be 0. Memory: 8 n^2 bytes; while it is built 24 n^2 bytes more.
class GroupMetric {
 public:
  /// @param moments  [n, n] symmetric; only the diagonal and what is right of it are read
  /// @throws Error kShape unless the matrix is square; kUnsupported if a number is not finite, a
  ///         second moment is negative, or H is not positive definite
  static GroupMetric of(MatrixView<const float> moments, const Damping& damping = {});
  static GroupMetric of(MatrixView<const double> moments, const Damping& damping = {});
  /// Of inputs without correlations: errors are not spread. Memory: 8 n bytes.
  /// @param moments  [n] second moments
  /// @throws Error kUnsupported as of()
  static GroupMetric diagonal(std::span<const float> moments, const Damping& damping = {});
  /// Of n inputs that are all alike: the squared error of the weights.
  static GroupMetric identity(std::size_t inputs);

  [[nodiscard]] std::size_t inputs() const { return inputs_; }
  [[nodiscard]] bool is_diagonal() const { return is_diagonal_; }
  /// [n, n], or [1, n] if diagonal.
  [[nodiscard]] MatrixView<const float> hessian() const { return view(hessian_); }
  /// [n, n], or [1, n] if diagonal.
  [[nodiscard]] MatrixView<const float> factor() const { return view(factor_); }

 private:
  GroupMetric(std::size_t inputs, bool is_diagonal);
  template <typename T>
  static GroupMetric damped(MatrixView<const T> moments, const Damping& damping);
  [[nodiscard]] MatrixView<const float> view(const AlignedBuffer& numbers) const {
    return {numbers.as<float>(), is_diagonal_ ? 1 : inputs_, inputs_};
  }

  std::size_t inputs_;
  bool is_diagonal_;
  AlignedBuffer hessian_;
  AlignedBuffer factor_;
};

}  // namespace halftone::compress
