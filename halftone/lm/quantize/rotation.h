// SPDX-License-Identifier: Apache-2.0
// Orthogonal matrices that spread outliers over all channels of a row.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/base/view.h"

namespace halftone::lm {

/// R = I_k (x) diag(s) (H_p (x) Q_m): k equal blocks of b = p m numbers, H_p the symmetric Hadamard
/// matrix of a power of two over sqrt(p), Q_m orthogonal and m the odd part of b. R R' = I. Rows
/// are computed in float64 and rounded once, with the same bits everywhere.
///
/// Source: Chee et al., QuIP, 2023 (arXiv:2307.13304) and Ashkboos et al., QuaRot, 2024
/// (arXiv:2404.00456): incoherence by random rotations; signs and Q_m are random.
class Rotation {
 public:
  /// @param block  b, at least 1
  /// @param count  k, at least 1
  Rotation(std::size_t block, std::size_t count, std::uint64_t seed);

  [[nodiscard]] std::size_t size() const { return block_ * count_; }  ///< n = k b
  /// x <- x R. @param x  [n]
  void apply(std::span<float> x) const;
  /// x <- x R'.
  void apply_inverse(std::span<float> x) const;
  /// W <- W R, on several threads. @param matrix  [o, n]
  void apply_to_rows(MatrixView<float> matrix) const;
  void apply_inverse_to_rows(MatrixView<float> matrix) const;
  /// W <- R' W. @param matrix  [n, c]
  void apply_to_columns(MatrixView<float> matrix) const;
  void apply_inverse_to_columns(MatrixView<float> matrix) const;

 private:
  void apply_block(std::span<double> x) const;
  void apply_block_inverse(std::span<double> x) const;
  /// Multiplies [p, m] by H_p from the left.
  void mix(std::span<double> x) const;
  template <typename Apply>
  void for_blocks(std::span<float> x, const Apply& apply) const;

  std::size_t block_;
  std::size_t count_;
  std::size_t odd_;             ///< m
  std::vector<double> signs_;   ///< [b] s
  std::vector<double> matrix_;  ///< [m, m] Q
};

}  // namespace halftone::lm
