// SPDX-License-Identifier: Apache-2.0
// Codes and bases of a weight matrix while they are being searched for.
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

/// A matrix [rows, cols] of codes with the bases they are in. Functions on different rows may run
/// at the same time, set_basis() on different bases too.
class CodeSearch {
 public:
  CodeSearch(const WeightFormat& format, std::size_t rows, std::size_t cols);

  [[nodiscard]] const ParameterSpace& space() const { return space_; }
  [[nodiscard]] const numerics::BasisEncoding& encoding() const { return encoding_; }
  [[nodiscard]] std::vector<BasisBlock> blocks_of_row(std::size_t row) const;
  /// The levels the codes stand for, [rows, cols].
  [[nodiscard]] const Matrix& values() const { return values_; }
  [[nodiscard]] RowFit result() const;

  /// Replaces a basis; the codes of its block keep their bits and must be set anew or refined.
  void set_basis(std::size_t basis, const numerics::Basis& numbers);
  /// Gives an element the code of the nearest level and returns the level.
  double encode(std::size_t row, std::size_t col, double x);

  /// Lowers sum over rows of v' H v - 2 v' g (v the row's levels, g its row of `goal`): bases by
  /// closed form for fixed codes, then codes one by one for fixed bases, until no code changes.
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
  /// One pass of coordinate descent; whether a code changed.
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
