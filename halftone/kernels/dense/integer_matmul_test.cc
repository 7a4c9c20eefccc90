// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/integer_matmul.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"

namespace halftone::kernels {
namespace {

using IntegerMatmul = PerTarget;

/// Values within +-255.
std::vector<std::int16_t> differences(Random& random, std::size_t count) {
  std::vector<std::int16_t> result(count);
  for (auto& value : result) {
    value = static_cast<std::int16_t>(static_cast<int>(511 * random.uniform()) - 255);
  }
  return result;
}

void expect_integer_matmul_matches(const MatmulExtents& e, Random& random) {
  const auto w = differences(random, e.outputs * e.inputs);
  const MatrixView<const std::int16_t> weights(w, e.outputs, e.inputs);
  const IntegerMatmulWeights packed(weights);
  ASSERT_EQ(packed.padded_inputs(), (e.inputs + 1) / 2 * 2);
  auto x = differences(random, e.rows * packed.padded_inputs());
  for (std::size_t r = 0; r < e.rows && packed.padded_inputs() != e.inputs; ++r) {
    x[(r + 1) * packed.padded_inputs() - 1] = 0;
  }
  std::vector<std::int32_t> y(e.rows * e.outputs, std::numeric_limits<std::int32_t>::max() - 9);
  auto expected = y;
  const MatrixView<const std::int16_t> rows(x, e.rows, packed.padded_inputs());
  integer_matmul(rows, packed, MatrixView<std::int32_t>(y, e.rows, e.outputs));
  integer_matmul_reference(rows, weights, MatrixView<std::int32_t>(expected, e.rows, e.outputs));
  EXPECT_EQ(y, expected) << e.rows << " x " << e.inputs << " x " << e.outputs;
}

TEST_P(IntegerMatmul, MatchesReferenceForEveryNumberOfOutputs) {
  Random random(60);
  for (std::size_t outputs = 0; outputs <= 140; ++outputs) {
    for (const std::size_t rows : {1U, 3U})
      expect_integer_matmul_matches({rows, 7, outputs}, random);
  }
}

TEST_P(IntegerMatmul, MatchesReferenceForEveryNumberOfInputsAndRows) {
  Random random(61);
  for (std::size_t inputs = 0; inputs <= 35; ++inputs)
    expect_integer_matmul_matches({2, inputs, 80}, random);
  for (std::size_t rows = 0; rows <= 9; ++rows)
    expect_integer_matmul_matches({rows, 20, 96}, random);
}

TEST_P(IntegerMatmul, KeepsTheLargestProducts) {
  const std::vector<std::int16_t> x(64, 255);
  const std::vector<std::int16_t> w(64, -255);
  std::vector<std::int32_t> y(1, 0);
  integer_matmul({x.data(), 1, 64, 64}, IntegerMatmulWeights({w.data(), 1, 64, 64}),
                 {y.data(), 1, 1, 1});
  EXPECT_EQ(y[0], -64 * 255 * 255);
}

HALFTONE_INSTANTIATE_PER_TARGET(IntegerMatmul);

}  // namespace
}  // namespace halftone::kernels
