// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/crossbar/ir_drop.h"

#include <Eigen/SparseCholesky>
#include <cmath>
#include <cstddef>

#include "halftone/base/error.h"

namespace halftone::crossbar {
namespace {

using SparseMatrix = Eigen::SparseMatrix<double>;
using Entry = Eigen::Triplet<double>;

/// The nodes of an array: a node of the row wire and one of the column wire for each cell.
class Nodes {
 public:
  Nodes(std::size_t rows, std::size_t cols) : rows_(rows), cols_(cols) {}
  [[nodiscard]] int count() const { return static_cast<int>(2 * rows_ * cols_); }
  [[nodiscard]] int of_row(std::size_t i, std::size_t j) const {
    return static_cast<int>(2 * (i * cols_ + j));
  }
  [[nodiscard]] int of_column(std::size_t i, std::size_t j) const { return of_row(i, j) + 1; }
  [[nodiscard]] int first_of_row(std::size_t i) const { return of_row(i, 0); }
  [[nodiscard]] int last_of_column(std::size_t j) const { return of_column(rows_ - 1, j); }

 private:
  std::size_t rows_;
  std::size_t cols_;
};

/// The lower triangle of the matrix of Kirchhoff's current law.
SparseMatrix nodal_matrix(MatrixView<const double> g, double wire) {
  const Nodes nodes(g.rows(), g.cols());
  std::vector<Entry> entries;
  entries.reserve(g.rows() * g.cols() * 9);
  const auto connect = [&](int a, int b, double conductance) {
    entries.emplace_back(a, a, conductance);
    entries.emplace_back(b, b, conductance);
    entries.emplace_back(std::max(a, b), std::min(a, b), -conductance);
  };
  for (std::size_t i = 0; i < g.rows(); ++i) {
    for (std::size_t j = 0; j < g.cols(); ++j) {
      connect(nodes.of_row(i, j), nodes.of_column(i, j), g(i, j));
      if (j + 1 < g.cols()) connect(nodes.of_row(i, j), nodes.of_row(i, j + 1), wire);
      if (i + 1 < g.rows()) connect(nodes.of_column(i, j), nodes.of_column(i + 1, j), wire);
    }
  }
  for (std::size_t i = 0; i < g.rows(); ++i) {
    entries.emplace_back(nodes.first_of_row(i), nodes.first_of_row(i), wire);
  }
  for (std::size_t j = 0; j < g.cols(); ++j) {
    entries.emplace_back(nodes.last_of_column(j), nodes.last_of_column(j), wire);
  }
  SparseMatrix matrix(nodes.count(), nodes.count());
  matrix.setFromTriplets(entries.begin(), entries.end());
  return matrix;
}

}  // namespace

std::vector<double> with_wires(MatrixView<const double> conductances, double segment_ohms) {
  const std::size_t rows = conductances.rows();
  const std::size_t cols = conductances.cols();
  std::vector<double> effective(rows * cols);
  if (segment_ohms == 0 || effective.empty()) {
    for (std::size_t i = 0; i < rows; ++i) {
      for (std::size_t j = 0; j < cols; ++j) effective[i * cols + j] = conductances(i, j);
    }
    return effective;
  }
  const double wire = 1 / segment_ohms;
  const Nodes nodes(rows, cols);
  const Eigen::SimplicialLDLT<SparseMatrix, Eigen::Lower> solver(nodal_matrix(conductances, wire));
  const auto solve = [&](int node) {
    Eigen::VectorXd right = Eigen::VectorXd::Zero(nodes.count());
    right[node] = wire * wire;
    return Eigen::VectorXd(solver.solve(right));
  };
  const bool by_rows = rows <= cols;
  for (std::size_t k = 0; k < (by_rows ? rows : cols); ++k) {
    const Eigen::VectorXd u = solve(by_rows ? nodes.first_of_row(k) : nodes.last_of_column(k));
    for (std::size_t l = 0; l < (by_rows ? cols : rows); ++l) {
      const double value = u[by_rows ? nodes.last_of_column(l) : nodes.first_of_row(l)];
      effective[by_rows ? k * cols + l : l * cols + k] = value;
    }
    if (solver.info() != Eigen::Success || !u.allFinite()) {
      fail(ErrorKind::kUnsupported,
           "an array of " + std::to_string(rows) + " x " + std::to_string(cols) +
               " cells: its network of wires cannot be solved in float64; expected a larger "
               "resistance than " +
               std::to_string(segment_ohms) + " ohms per segment");
    }
  }
  return effective;
}

}  // namespace halftone::crossbar
