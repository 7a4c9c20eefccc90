// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/matmul.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Matmul = PerTarget;

/// A matrix whose row stride exceeds its number of columns, with NaN in the gaps.
template <typename T>
struct Spread {
  Spread(Random& random, std::size_t rows, std::size_t cols, std::size_t gap)
      : elements(rows * (cols + gap), std::numeric_limits<T>::quiet_NaN()),
        view(elements.data(), rows, cols, cols + gap) {
    for (std::size_t r = 0; r < rows; ++r) {
      for (T& value : view.row(r)) value = static_cast<T>(random.normal());
    }
  }
  std::vector<T> elements;
  MatrixView<T> view;
};

struct Way {
  bool a_transposed;
  bool b_transposed;
  Update update;
  Region region;
};

std::vector<Way> all_ways() {
  std::vector<Way> ways;
  for (const bool a : {false, true}) {
    for (const bool b : {false, true}) {
      for (const Update update : {Update::kAssign, Update::kAdd, Update::kSubtract}) {
        for (const Region region : {Region::kAll, Region::kUpper}) {
          ways.push_back({a, b, update, region});
        }
      }
    }
  }
  return ways;
}

template <typename T>
void expect_matmul_matches(const MatmulExtents& e, const Way& way, Random& random) {
  const auto factor = [&](std::size_t rows, std::size_t cols, bool is_transposed) {
    return is_transposed ? Spread<T>(random, cols, rows, 3) : Spread<T>(random, rows, cols, 2);
  };
  auto a = factor(e.rows, e.inputs, way.a_transposed);
  auto b = factor(e.inputs, e.outputs, way.b_transposed);
  Spread<T> c(random, e.rows, e.outputs, 5);
  std::vector<T> expected = c.elements;
  const Factor<T> left(a.view, way.a_transposed);
  const Factor<T> right(b.view, way.b_transposed);
  matmul(left, right, c.view, way.update, way.region);
  matmul_reference(left, right, {expected.data(), e.rows, e.outputs, e.outputs + 5}, way.update,
                   way.region);
  EXPECT_EQ(bit_patterns(c.elements), bit_patterns(expected))
      << e.rows << " x " << e.inputs << " x " << e.outputs << ", transposed " << way.a_transposed
      << way.b_transposed << ", update " << static_cast<int>(way.update) << ", region "
      << static_cast<int>(way.region);
}

void expect_both_match(const MatmulExtents& e, Random& random) {
  for (const Way& way : all_ways()) {
    expect_matmul_matches<double>(e, way, random);
    expect_matmul_matches<float>(e, way, random);
  }
}

TEST_P(Matmul, MatchesReferenceForEveryNumberOfRows) {
  Random random(60);
  for (std::size_t rows = 0; rows <= 20; ++rows) expect_both_match({rows, 9, 37}, random);
}

TEST_P(Matmul, MatchesReferenceForEveryNumberOfColumns) {
  Random random(61);
  for (std::size_t outputs = 0; outputs <= 70; ++outputs) {
    expect_both_match({3, 5, outputs}, random);
    expect_both_match({13, 5, outputs}, random);
  }
}

TEST_P(Matmul, MatchesReferenceForEveryDepth) {
  Random random(62);
  for (const std::size_t inputs : {0U, 1U, 7U, 8U, 9U, 127U, 128U, 129U, 300U}) {
    expect_both_match({2, inputs, 35}, random);
    expect_both_match({14, inputs, 35}, random);
  }
}

TEST_P(Matmul, MatchesReferenceBeyondABlock) {
  Random random(63);
  expect_both_match({150, 140, 270}, random);
}

HALFTONE_INSTANTIATE_PER_TARGET(Matmul);

}  // namespace
}  // namespace halftone::kernels
