// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/transpose.h"

#include <gtest/gtest.h>

#include <numeric>
#include <vector>

#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using Transpose = PerTarget;

TEST_P(Transpose, MatchesReferenceForEverySizeAndWritesNothingElse) {
  for (std::size_t rows = 0; rows <= 37; ++rows) {
    for (const std::size_t cols : {0U, 1U, 3U, 4U, 5U, 16U, 19U, 37U}) {
      const std::size_t x_step = cols + 3;
      const std::size_t y_step = rows + 2;
      std::vector<std::uint32_t> x(rows * x_step);
      std::iota(x.begin(), x.end(), 0xff800001U);  // bit patterns of NaNs
      std::vector<std::uint32_t> y(cols * y_step, 7);
      std::vector<std::uint32_t> expected = y;
      const MatrixView<const std::uint32_t> from(x.data(), rows, cols, x_step);
      transpose(from, {y.data(), cols, rows, y_step});
      transpose_reference(from, {expected.data(), cols, rows, y_step});
      EXPECT_EQ(y, expected) << rows << " rows, " << cols << " columns";
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Transpose);

}  // namespace
}  // namespace halftone::kernels
