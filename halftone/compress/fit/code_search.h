// SPDX-License-Identifier: Apache-2.0
// Codes and bases of a weight matrix during the search.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/compress/fit/row_fit.h"

namespace halftone::compress {

/// Neighbouring columns of a row that share a basis.
struct BasisBlock {
  std::size_t basis;
  std::size_t first_col;
  std::size_t num_cols;
};

/// A matrix [rows, cols] of codes with their bases. Functions on different rows may run
/// concurrently, and so may set_basis() on different bases.
class CodeSearch {
 public:
  CodeSearch(const WeightFormat& format, std::size_t rows, std::size_t cols);

  [[nodiscard]] const ParameterSpace& space() const { return space_; }
  [[nodiscard]] const numerics::BasisEncoding& encoding() const { return encoding_; }
  [[nodiscard]] std::vector<BasisBlock> blocks_of_row(std::size_t row) const;
  /// The levels that the codes represent, [rows, cols].
  [[nodiscard]] const Matrix& values() const { return values_; }
  [[nodiscard]] RowFit result() const;

  /// Replaces a basis. The codes of its blocks keep their bits; encode or refine them afterwards.
  void set_basis(std::size_t basis, const numerics::Basis& numbers);
  /// Sets the code of an element to that of the level nearest to x and returns the level.
  double encode(std::size_t row, std::size_t col, double x);

  /// Lowers sum over rows of v' H v - 2 v' g (v the row's levels, g its row of `goal`).
  /// Alternates bases in closed form for fixed codes with codes one by one for fixed bases, until
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
  [[nodiscard]] std::size_t basis_of(std::size_t row, std::size_t col) const;
  [[nodiscard]] Equations row_equations(std::size_t row, const Matrix& hessian,
                                        const Matrix& goal) const;
  void solve_row(std::size_t row, const Equations& equations);
  void solve_shared_basis(const Matrix& hessian, const Matrix& goal);
  void revalue_row(std::size_t row);
  /// One pass of coordinate descent. Returns whether a code changed.
  bool descend_row(std::size_t row, const Matrix& hessian, const Matrix& goal);
  void refine_together(const Matrix& hessian, const Matrix& goal, int sweeps);

  ParameterSpace space_;
  std::size_t rows_;
  std::size_t cols_;
  numerics::BasisEncoding encoding_;
  std::vector<numerics::LevelTable> tables_;  ///< by basis
  std::vector<numerics::Code> codes_;         ///< [rows * cols]
  Matrix values_;
};

}  // namespace halftone::compress
