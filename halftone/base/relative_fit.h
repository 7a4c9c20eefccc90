// SPDX-License-Identifier: Apache-2.0
// Fits the few coefficients of a cost model to measurements.
#pragma once

#include <array>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>

namespace halftone {

namespace internal {

/// The least squares problem for the unknowns in `free`, the others zero, through the normal
/// equations. The unknowns are scaled to similar sizes first. Nothing if the equations are close to
/// singular or a coefficient would be negative.
template <std::size_t kUnknowns>
std::optional<std::array<double, kUnknowns>> solve_relative(
    std::span<const std::array<double, kUnknowns>> rows, unsigned free) {
  std::array<double, kUnknowns> scale{};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kUnknowns; ++i) scale[i] = row[i] > scale[i] ? row[i] : scale[i];
  }
  std::array<std::array<double, kUnknowns + 1>, kUnknowns> system{};
  const auto is_free = [&](std::size_t i) { return (free >> i & 1U) != 0 && scale[i] > 0; };
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    if (!is_free(i)) system[i][i] = 1;
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      if (!is_free(i)) continue;
      for (std::size_t j = 0; j < kUnknowns; ++j) {
        if (is_free(j)) system[i][j] += row[i] / scale[i] * row[j] / scale[j];
      }
      system[i][kUnknowns] += row[i] / scale[i];
    }
  }
  // Elimination without pivoting: the matrix is positive definite, or close to singular.
  for (std::size_t k = 0; k < kUnknowns; ++k) {
    if (system[k][k] < 1e-9) return std::nullopt;
    for (std::size_t i = 0; i < kUnknowns; ++i) {
      if (i == k) continue;
      const double factor = system[i][k] / system[k][k];
      for (std::size_t j = k; j <= kUnknowns; ++j) system[i][j] -= factor * system[k][j];
    }
  }
  std::array<double, kUnknowns> solution{};
  for (std::size_t i = 0; i < kUnknowns; ++i) {
    if (is_free(i)) solution[i] = system[i][kUnknowns] / system[i][i] / scale[i];
    if (solution[i] < 0) return std::nullopt;
  }
  return solution;
}

}  // namespace internal

template <std::size_t kUnknowns>
struct RelativeFit {
  std::array<double, kUnknowns> coefficients{};
  double error = std::numeric_limits<double>::infinity();  ///< the sum that was minimised
};

/// The coefficients c >= 0 that minimise sum_s (c . row_s - 1)^2, where row_s holds the terms of
/// sample s over its measured cost: least squares of the relative error. Tries all subsets of
/// coefficients.
/// @pre every row is finite and not negative
template <std::size_t kUnknowns>
RelativeFit<kUnknowns> fit_relative(std::span<const std::array<double, kUnknowns>> rows) {
  RelativeFit<kUnknowns> best;
  for (unsigned free = 0; free < 1U << kUnknowns; ++free) {
    const auto solution = internal::solve_relative<kUnknowns>(rows, free);
    if (!solution) continue;
    double error = 0;
    for (const auto& row : rows) {
      double model = 0;
      for (std::size_t i = 0; i < kUnknowns; ++i) model += (*solution)[i] * row[i];
      error += (model - 1) * (model - 1);
    }
    if (error < best.error) best = {*solution, error};
  }
  return best;
}

}  // namespace halftone
