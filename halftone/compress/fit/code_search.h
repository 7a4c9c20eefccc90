// SPDX-License-Identifier: Apache-2.0
// Codes and levels of a weight matrix during the search.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/compress/fit/row_fit.h"

namespace halftone::compress {

/// Neighbouring columns of a row that belong to one block of the encoding.
struct RowBlock {
  std::size_t block;
  std::size_t first_col;
  std::size_t num_cols;
};

/// A matrix [rows, cols] of codes with their encoding. Functions on different rows may run
/// concurrently, and so may set_levels() on different blocks.
class CodeSearch {
 public:
  CodeSearch(const WeightFormat& format, std::size_t rows, std::size_t cols);

  [[nodiscard]] const ParameterSpace& space() const { return space_; }
  [[nodiscard]] const numerics::MatrixEncoding& encoding() const { return encoding_; }
  [[nodiscard]] std::vector<RowBlock> blocks_of_row(std::size_t row) const;
  /// The levels that the codes represent, [rows, cols].
  [[nodiscard]] const Matrix& values() const { return values_; }
  [[nodiscard]] RowFit result() const;

  /// Replaces the levels of a block. Its codes keep their bits; encode or refine them afterwards.
  void set_levels(std::size_t block, const numerics::Levels& levels);
  /// Sets the code of an element to that of the level nearest to x and returns the level.
  double encode(std::size_t row, std::size_t col, double x);

  /// Lowers sum over rows of v' H v - 2 v' g (v the row's levels, g its row of `goal`).
  /// Alternates levels in closed form for fixed codes with codes one by one for fixed levels, until
  /// no code changes.
  /// @param hessian  [cols, cols] symmetric, positive definite
  /// @param goal     [rows, cols]
  void refine(const Matrix& hessian, const Matrix& goal, int sweeps);

 private:
  struct Equations {
    Matrix gram;
    Vector rhs;
  };
  [[nodiscard]] std::size_t groups() const { return encoding_.groups_per_row(cols_); }
  [[nodiscard]] std::size_t block_of(std::size_t row, std::size_t col) const;
  [[nodiscard]] Equations row_equations(std::size_t row, const Matrix& hessian,
                                        const Matrix& goal) const;
  [[nodiscard]] Vector solve(const Matrix& gram, const Vector& rhs) const;
  /// Levels for fixed codes, in closed form.
  void solve_row(std::size_t row, const Equations& equations);
  /// The same block by block, so that each makes up for the rounding of those before it; a block
  /// whose rounded levels are worse than those it has keeps them.
  void solve_row_rounded(std::size_t row, const Equations& equations);
  void solve_shared_levels(const Matrix& hessian, const Matrix& goal);
  void revalue_row(std::size_t row);
  /// One pass of coordinate descent. Returns whether a code changed.
  bool descend_row(std::size_t row, const Matrix& hessian, const Matrix& goal);
  void refine_together(const Matrix& hessian, const Matrix& goal, int sweeps);

  std::size_t rows_;
  std::size_t cols_;
  numerics::MatrixEncoding encoding_;
  ParameterSpace space_;
  std::vector<numerics::BlockEncoder> encoders_;  ///< by block
  std::vector<numerics::Code> codes_;             ///< [rows * cols]
  Matrix values_;
};

}  // namespace halftone::compress
