// SPDX-License-Identifier: Apache-2.0
// Codes and levels of rows of weights whose blocks learn levels, during the search.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/base/view.h"
#include "halftone/compress/fit/level_fit.h"
#include "halftone/compress/fit/row_fit.h"

namespace halftone::compress {

/// Neighbouring columns of a row that belong to one block of the encoding.
struct RowBlock {
  std::size_t block;
  std::size_t first_col;
  std::size_t num_cols;
};

/// A matrix [rows, cols] of codes with their encoding.
class CodeSearch {
 public:
  CodeSearch(const WeightFormat& format, std::size_t rows, std::size_t cols);

  [[nodiscard]] MatrixFit result() const;

  /// Step 1: fit_levels() for every block of a target.
  /// @param target   [rows, cols]
  /// @param weights  [cols] of the squared errors of columns; empty: 1
  void fit_blocks(MatrixView<const double> target, std::span<const float> weights,
                  const LevelFitOptions& options);
  /// Step 2: the code of the level nearest to each element of a target, less the errors of the
  /// columns before it: w_j -= (w_k - q_k) U_kj / U_kk.
  /// @param factor  [cols, cols] U; empty: errors are not spread
  void encode(MatrixView<const double> target, MatrixView<const double> factor);
  /// Step 3: lowers sum over rows of v' H v - 2 v' g (v the row's levels, g its row of `goal`).
  /// Alternates levels in closed form for fixed codes with codes one by one for fixed levels, until
  /// no code changes.
  /// @param hessian  [cols, cols] symmetric, positive definite
  /// @param goal     [rows, cols]
  void refine(MatrixView<const double> hessian, MatrixView<const double> goal, int sweeps);

 private:
  struct Equations {
    Matrix gram;
    Vector rhs;
  };
  [[nodiscard]] std::size_t groups() const { return encoding_.groups_per_row(cols_); }
  [[nodiscard]] bool is_shared() const {
    return encoding_.granularity == numerics::Granularity::kTensor;
  }
  [[nodiscard]] std::size_t block_of(std::size_t row, std::size_t col) const;
  [[nodiscard]] std::vector<RowBlock> blocks_of_row(std::size_t row) const;
  void set_levels(std::size_t block, const numerics::Levels& levels);
  void fit_block(std::size_t block, std::span<const double> target, std::span<const float> weights,
                 const LevelFitOptions& options);
  /// Sets the code of an element to that of the level nearest to x and returns the level.
  double encode(std::size_t row, std::size_t col, double x);
  [[nodiscard]] Equations row_equations(std::size_t row, MatrixView<const double> hessian,
                                        MatrixView<const double> goal) const;
  [[nodiscard]] Vector solve(const Matrix& gram, const Vector& rhs) const;
  /// Levels for fixed codes, in closed form.
  void solve_row(std::size_t row, const Equations& equations);
  /// The same block by block, so that each makes up for the rounding of those before it; a block
  /// whose rounded levels are worse than those it has keeps them.
  void solve_row_rounded(std::size_t row, const Equations& equations);
  void solve_shared_levels(MatrixView<const double> hessian, MatrixView<const double> goal);
  void revalue_row(std::size_t row);
  /// One pass of coordinate descent. Returns whether a code changed.
  bool descend_row(std::size_t row, MatrixView<const double> hessian,
                   MatrixView<const double> goal);

  std::size_t rows_;
  std::size_t cols_;
  numerics::MatrixEncoding encoding_;
  ParameterSpace space_;
  std::vector<numerics::BlockEncoder> encoders_;  ///< by block
  std::vector<numerics::Code> codes_;             ///< [rows * cols]
  Matrix values_;                                 ///< [rows, cols] that the codes represent
};

}  // namespace halftone::compress
