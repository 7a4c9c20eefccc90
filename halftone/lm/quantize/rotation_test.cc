// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/rotation.h"

#include <cmath>
#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

/// Rows of the rotation itself.
std::vector<float> as_matrix(const Rotation& rotation) {
  const std::size_t n = rotation.size();
  std::vector<float> rows(n * n);
  for (std::size_t i = 0; i < n; ++i) rows[i * n + i] = 1;
  rotation.apply_to_rows(MatrixView<float>(rows, n, n));
  return rows;
}

/// Each number is rounded to float32 once; those of a row have squares that sum to 1.
double rounding(std::size_t n) {
  return std::numeric_limits<float>::epsilon() * std::sqrt(static_cast<double>(n));
}

TEST(Rotation, IsOrthogonal) {
  for (const auto& [block, count] : std::vector<std::pair<std::size_t, std::size_t>>{
           {1, 1}, {8, 1}, {9, 1}, {24, 1}, {4, 3}, {6, 2}}) {
    const Rotation rotation(block, count, 3);
    const std::size_t n = block * count;
    ASSERT_EQ(rotation.size(), n);
    const std::vector<float> matrix = as_matrix(rotation);
    for (std::size_t i = 0; i < n; ++i) {
      for (std::size_t j = 0; j < n; ++j) {
        double dot = 0;
        for (std::size_t k = 0; k < n; ++k) {
          dot += double{matrix[i * n + k]} * double{matrix[j * n + k]};
        }
        EXPECT_NEAR(dot, i == j ? 1 : 0, rounding(n)) << block << " " << i << " " << j;
        const bool is_outside = i / block != j / block;
        if (is_outside) {
          EXPECT_EQ(matrix[i * n + j], 0);
        }
      }
    }
  }
}

TEST(Rotation, SpreadsAChannelOverItsBlock) {
  const Rotation rotation(64, 1, 0);
  const std::vector<float> matrix = as_matrix(rotation);
  for (const float x : matrix) EXPECT_FLOAT_EQ(std::abs(x), 0.125F);
}

TEST(Rotation, DependsOnTheSeed) {
  EXPECT_NE(as_matrix(Rotation(12, 1, 0)), as_matrix(Rotation(12, 1, 1)));
  EXPECT_EQ(as_matrix(Rotation(12, 1, 5)), as_matrix(Rotation(12, 1, 5)));
}

TEST(Rotation, ColumnsAreRowsOfTheTranspose) {
  const Rotation rotation(12, 1, 1);
  std::vector<float> matrix;
  for (int i = 0; i < 12 * 5; ++i) matrix.push_back(static_cast<float>(std::sin(i)));
  std::vector<float> transposed(matrix.size());
  for (std::size_t r = 0; r < 12; ++r) {
    for (std::size_t c = 0; c < 5; ++c) transposed[c * 12 + r] = matrix[r * 5 + c];
  }
  std::vector<float> columns = matrix;
  rotation.apply_to_columns(MatrixView<float>(columns, 12, 5));
  rotation.apply_to_rows(MatrixView<float>(transposed, 5, 12));
  for (std::size_t r = 0; r < 12; ++r) {
    for (std::size_t c = 0; c < 5; ++c) EXPECT_EQ(columns[r * 5 + c], transposed[c * 12 + r]);
  }
  // There and back: two roundings of numbers whose squares sum to at most 12.
  rotation.apply_inverse_to_columns(MatrixView<float>(columns, 12, 5));
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    EXPECT_NEAR(columns[i], matrix[i], 2 * rounding(12) * std::sqrt(12.0));
  }
}

TEST(Rotation, HasTheSameBitsOnOneThread) {
  const std::vector<float> several = as_matrix(Rotation(36, 1, 2));
  const ThreadLimit limit(1);
  EXPECT_EQ(as_matrix(Rotation(36, 1, 2)), several);
}

}  // namespace
}  // namespace halftone::lm
