// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using Transpose = PerTarget;

/// @param first  of the elements, which count up
/// @param gap    elements between rows, on both sides
template <typename T>
void expect_reference(std::size_t rows, std::size_t cols, T first, std::size_t gap) {
  const std::size_t x_step = cols + gap;
  const std::size_t y_step = rows + gap;
  std::vector<T> x(rows * x_step);
  std::iota(x.begin(), x.end(), first);
  std::vector<T> y(cols * y_step, 7);
  std::vector<T> expected = y;
  const MatrixView<const T> from(x.data(), rows, cols, x_step);
  transpose(from, MatrixView<T>(y.data(), cols, rows, y_step));
  transpose_reference<T>(from, {expected.data(), cols, rows, y_step});
  EXPECT_EQ(y, expected) << rows << " rows, " << cols << " columns";
}

TEST_P(Transpose, MatchesReferenceForEverySizeAndWritesNothingElse) {
  for (std::size_t rows = 0; rows <= 37; ++rows) {
    for (const std::size_t cols : {0U, 1U, 3U, 4U, 5U, 16U, 19U, 37U}) {
      for (const std::size_t gap : {0U, 2U}) {
        expect_reference<std::uint32_t>(rows, cols, 0xff800001U, gap);  // bit patterns of NaNs
        expect_reference<std::uint8_t>(rows, cols, 3, gap);
        expect_reference<std::uint8_t>(cols, rows, 3, gap);
      }
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Transpose);

}  // namespace
}  // namespace halftone::kernels
