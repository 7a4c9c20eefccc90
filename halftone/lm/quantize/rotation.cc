// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/rotation.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/base/random.h"

namespace halftone::lm {
namespace {

/// Rows of a matrix [m, m], each made orthogonal to those before it, twice against rounding.
/// Entries are uniform, since sines and logarithms are not the same in all C libraries.
std::vector<double> random_orthogonal(std::size_t m, Random& random) {
  std::vector<double> q(m * m);
  for (std::size_t i = 0; i < m; ++i) {
    const std::span<double> row = std::span(q).subspan(i * m, m);
    for (double& x : row) x = 2 * random.uniform() - 1;
    for (int pass = 0; pass < 2; ++pass) {
      for (std::size_t j = 0; j < i; ++j) {
        double dot = 0;
        for (std::size_t c = 0; c < m; ++c) dot += row[c] * q[j * m + c];
        for (std::size_t c = 0; c < m; ++c) row[c] -= dot * q[j * m + c];
      }
      double square = 0;
      for (const double x : row) square += x * x;
      for (double& x : row) x /= std::sqrt(square);
    }
  }
  return q;
}

/// Applies `each` to the columns of a matrix, one after another as a row.
template <typename Each>
void for_columns(MatrixView<float> matrix, const Each& each) {
  parallel_for(matrix.cols(), [&](std::size_t c) {
    std::vector<float> column(matrix.rows());
    for (std::size_t r = 0; r < column.size(); ++r) column[r] = matrix(r, c);
    each(std::span(column));
    for (std::size_t r = 0; r < column.size(); ++r) matrix(r, c) = column[r];
  });
}

}  // namespace

Rotation::Rotation(std::size_t block, std::size_t count, std::uint64_t seed)
    : block_(block), count_(count) {
  HALFTONE_ASSERT(block > 0 && count > 0);
  odd_ = block >> std::countr_zero(block);
  Random random(seed);
  matrix_ = random_orthogonal(odd_, random);
  for (std::size_t i = 0; i < block; ++i) signs_.push_back(random.below(2) == 0 ? 1.0 : -1.0);
}

void Rotation::mix(std::span<double> x) const {
  const std::size_t p = block_ / odd_;
  for (std::size_t half = 1; half < p; half *= 2) {
    for (std::size_t first = 0; first < p; first += 2 * half) {
      for (std::size_t i = first * odd_; i < (first + half) * odd_; ++i) {
        const double a = x[i];
        const double b = x[i + half * odd_];
        x[i] = a + b;
        x[i + half * odd_] = a - b;
      }
    }
  }
  const double scale = 1 / std::sqrt(static_cast<double>(p));
  for (double& value : x) value *= scale;
}

void Rotation::apply_block(std::span<double> x) const {
  for (std::size_t i = 0; i < block_; ++i) x[i] *= signs_[i];
  mix(x);
  if (odd_ == 1) return;
  std::vector<double> row(odd_);
  for (std::size_t first = 0; first < block_; first += odd_) {
    std::ranges::fill(row, 0);
    for (std::size_t i = 0; i < odd_; ++i) {
      for (std::size_t j = 0; j < odd_; ++j) row[j] += x[first + i] * matrix_[i * odd_ + j];
    }
    std::ranges::copy(row, x.begin() + static_cast<std::ptrdiff_t>(first));
  }
}

void Rotation::apply_block_inverse(std::span<double> x) const {
  if (odd_ > 1) {
    std::vector<double> row(odd_);
    for (std::size_t first = 0; first < block_; first += odd_) {
      for (std::size_t i = 0; i < odd_; ++i) {
        row[i] = 0;
        for (std::size_t j = 0; j < odd_; ++j) row[i] += x[first + j] * matrix_[i * odd_ + j];
      }
      std::ranges::copy(row, x.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }
  mix(x);
  for (std::size_t i = 0; i < block_; ++i) x[i] *= signs_[i];
}

template <typename Apply>
void Rotation::for_blocks(std::span<float> x, const Apply& apply) const {
  HALFTONE_ASSERT(x.size() == size());
  std::vector<double> block(block_);
  for (std::size_t first = 0; first < x.size(); first += block_) {
    const std::span<float> part = x.subspan(first, block_);
    std::ranges::copy(part, block.begin());
    apply(std::span(block));
    std::ranges::transform(block, part.begin(), [](double v) { return static_cast<float>(v); });
  }
}

void Rotation::apply(std::span<float> x) const {
  for_blocks(x, [this](std::span<double> block) { apply_block(block); });
}

void Rotation::apply_inverse(std::span<float> x) const {
  for_blocks(x, [this](std::span<double> block) { apply_block_inverse(block); });
}

void Rotation::apply_to_rows(MatrixView<float> matrix) const {
  parallel_for(matrix.rows(), [&](std::size_t r) { apply(matrix.row(r)); });
}

void Rotation::apply_inverse_to_rows(MatrixView<float> matrix) const {
  parallel_for(matrix.rows(), [&](std::size_t r) { apply_inverse(matrix.row(r)); });
}

void Rotation::apply_to_columns(MatrixView<float> matrix) const {
  for_columns(matrix, [this](std::span<float> column) { apply(column); });
}

void Rotation::apply_inverse_to_columns(MatrixView<float> matrix) const {
  for_columns(matrix, [this](std::span<float> column) { apply_inverse(column); });
}

}  // namespace halftone::lm
