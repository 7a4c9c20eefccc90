// SPDX-License-Identifier: Apache-2.0
// For the tests of this folder: codewords and matrices from fixed seeds. Only tests include this.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/kernels/fit/codewords.h"
#include "halftone/kernels/testing.h"

namespace halftone::kernels {

/// Within +-1. Not normally distributed: logarithms and cosines differ between machines.
inline std::vector<float> even_floats(Random& random, std::size_t count) {
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(2 * random.uniform() - 1);
  return values;
}

/// Levels first, first + step, ...
inline std::vector<float> stepped_levels(float first, float step, std::size_t count) {
  std::vector<float> levels(count);
  for (std::size_t i = 0; i < count; ++i) levels[i] = first + static_cast<float>(i) * step;
  return levels;
}

/// A number of each code length, with and without a step.
inline std::vector<Codewords> codewords_of_all_kinds(Random& random) {
  std::vector<Codewords> all;
  all.emplace_back(stepped_levels(-4, 1, 8), 1);
  all.emplace_back(stepped_levels(-1, 2, 2), 1);
  all.emplace_back(std::vector<float>{-7, -3, -1, 0, 2, 5}, 1);
  for (const std::size_t d : {2U, 4U}) {
    for (const std::size_t n : {2U, 3U, 64U}) {
      std::vector<float> words = even_floats(random, n * d);
      for (float& number : words) number *= 4;
      all.emplace_back(words, d);
    }
  }
  return all;
}

/// A matrix whose rows are `gap` numbers apart.
template <typename T>
struct SpacedMatrix {
  SpacedMatrix(std::size_t rows, std::size_t cols, std::size_t gap = 0)
      : elements(rows * (cols + gap)), view(elements.data(), rows, cols, cols + gap) {}
  SpacedMatrix(SpacedMatrix&&) noexcept = default;
  SpacedMatrix(const SpacedMatrix&) = delete;
  SpacedMatrix& operator=(SpacedMatrix&&) = delete;
  SpacedMatrix& operator=(const SpacedMatrix&) = delete;
  ~SpacedMatrix() = default;
  std::vector<T> elements;
  MatrixView<T> view;
};

/// Numbers within +-1.
inline SpacedMatrix<float> even_matrix(Random& random, std::size_t rows, std::size_t cols,
                                       std::size_t gap = 0) {
  SpacedMatrix<float> matrix(rows, cols, gap);
  for (float& value : matrix.elements) value = static_cast<float>(2 * random.uniform() - 1);
  return matrix;
}

/// X' X for random X [g + 3, g].
inline SpacedMatrix<float> positive_matrix(Random& random, std::size_t g) {
  const std::vector<float> x = even_floats(random, (g + 3) * g);
  SpacedMatrix<float> matrix(g, g);
  for (std::size_t i = 0; i < g; ++i) {
    for (std::size_t j = 0; j < g; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k < g + 3; ++k) {
        sum += static_cast<double>(x[k * g + i]) * static_cast<double>(x[k * g + j]);
      }
      matrix.view(i, j) = static_cast<float>(sum);
    }
  }
  return matrix;
}

}  // namespace halftone::kernels
