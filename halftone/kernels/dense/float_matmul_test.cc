// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/float_matmul.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using FloatMatmul = PerTarget;

void expect_float_matmul_matches(const MatmulExtents& e, Random& random) {
  const auto x = numerics::random_floats(random, e.rows * e.inputs);
  const auto w = numerics::random_floats(random, e.outputs * e.inputs);
  auto y = numerics::random_floats(random, e.rows * e.outputs);
  auto expected = y;
  const MatrixView<const float> weights(w, e.outputs, e.inputs);
  const FloatMatmulWeights packed(weights);
  EXPECT_EQ(packed.outputs(), e.outputs);
  EXPECT_EQ(packed.inputs(), e.inputs);
  const MatrixView<const float> rows(x, e.rows, e.inputs);
  float_matmul(rows, packed, MatrixView<float>(y, e.rows, e.outputs));
  float_matmul_reference(rows, weights, MatrixView<float>(expected, e.rows, e.outputs));
  EXPECT_EQ(y, expected) << e.rows << " x " << e.inputs << " x " << e.outputs;
}

TEST_P(FloatMatmul, MatchesReferenceForEveryNumberOfOutputs) {
  Random random(30);
  for (std::size_t outputs = 0; outputs <= 140; ++outputs) {
    for (const std::size_t rows : {1U, 3U}) expect_float_matmul_matches({rows, 7, outputs}, random);
  }
}

TEST_P(FloatMatmul, MatchesReferenceForEveryNumberOfInputsAndRows) {
  Random random(31);
  for (std::size_t inputs = 0; inputs <= 35; ++inputs)
    expect_float_matmul_matches({2, inputs, 80}, random);
  for (std::size_t rows = 0; rows <= 9; ++rows) expect_float_matmul_matches({rows, 20, 96}, random);
}

TEST_P(FloatMatmul, ContinuesLongSumsBlockByBlock) {
  Random random(33);
  for (const std::size_t rows : {1U, 7U, 100U, 197U}) {
    expect_float_matmul_matches({rows, 600, 35}, random);
  }
}

TEST_P(FloatMatmul, ComputesOnlyTheOutputsOfItsPanels) {
  Random random(34);
  const auto x = numerics::random_floats(random, 9 * 20);
  const auto w = numerics::random_floats(random, 75 * 20);
  const MatrixView<const float> rows(x, 9, 20);
  const FloatMatmulWeights weights(MatrixView<const float>(w, 75, 20));
  const auto start = numerics::random_floats(random, 9 * 75);
  auto whole = start;
  float_matmul(rows, weights, MatrixView<float>(whole, 9, 75));
  for (std::size_t end = 0; end <= 5; ++end) {
    auto y = start;
    float_matmul(rows, weights.panels(), {end / 2, end}, MatrixView<float>(y, 9, 75));
    for (std::size_t i = 0; i < y.size(); ++i) {
      const std::size_t panel = i % 75 / FloatPanels::kOutputs;
      EXPECT_EQ(y[i], panel >= end / 2 && panel < end ? whole[i] : start[i]) << i << ", " << end;
    }
  }
}

TEST(FloatPanels, AreTheSameForTransposedWeights) {
  Random random(35);
  for (const std::size_t outputs : {0U, 1U, 15U, 16U, 17U, 40U}) {
    const auto w = numerics::random_floats(random, outputs * 9);
    std::vector<float> turned(w.size());
    for (std::size_t i = 0; i < w.size(); ++i) turned[i % 9 * outputs + i / 9] = w[i];
    std::vector<float> panels(FloatPanels::floats_for(outputs, 9), -1.0F);
    std::vector<float> turned_panels(panels.size(), -2.0F);
    pack_float_panels(MatrixView<const float>(w, outputs, 9), panels);
    pack_transposed_float_panels(MatrixView<const float>(turned, 9, outputs), turned_panels);
    EXPECT_EQ(panels, turned_panels) << outputs;
  }
}

TEST_P(FloatMatmul, ReadsPanelsInAMatrix) {
  Random random(36);
  constexpr std::size_t kInputs = 300;
  constexpr std::size_t kStride = 90;  // of which 80 are whole panels
  const auto w = numerics::random_floats(random, kInputs * kStride);
  std::vector<float> turned(80 * kInputs);
  for (std::size_t i = 0; i < turned.size(); ++i) {
    turned[i] = w[i % kInputs * kStride + i / kInputs];
  }
  const FloatPanels panels = FloatPanels::in_matrix({w.data(), kInputs, 80, kStride});
  for (const std::size_t rows : {1U, 2U, 7U, 100U}) {
    const auto x = numerics::random_floats(random, rows * kInputs);
    const MatrixView<const float> x_view(x, rows, kInputs);
    auto y = numerics::random_floats(random, rows * 80);
    auto expected = y;
    float_matmul(x_view, panels, {0, panels.count()}, MatrixView<float>(y, rows, 80));
    float_matmul_reference(x_view, MatrixView<const float>(turned, 80, kInputs),
                           MatrixView<float>(expected, rows, 80));
    EXPECT_EQ(y, expected) << rows;
  }
}

TEST_P(FloatMatmul, SupportsRowStrides) {
  Random random(32);
  const auto x = numerics::random_floats(random, 3 * 20);
  const auto w = numerics::random_floats(random, 21 * 13);
  auto y = numerics::random_floats(random, 3 * 30);
  auto expected = y;
  const MatrixView<const float> weights(w, 21, 13);
  const MatrixView<const float> rows(x.data(), 3, 13, 20);
  float_matmul(rows, FloatMatmulWeights(weights), {y.data(), 3, 21, 30});
  float_matmul_reference(rows, weights, {expected.data(), 3, 21, 30});
  EXPECT_EQ(y, expected);
}

HALFTONE_INSTANTIATE_PER_TARGET(FloatMatmul);

}  // namespace
}  // namespace halftone::kernels
