// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/column_pass.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/random.h"

namespace halftone::compress {
namespace {

struct PassCase {
  std::size_t rows;
  std::size_t step;
  std::size_t panel;
  bool reaches_all;
  bool is_diagonal;
};

constexpr std::size_t kColumns = 24;
constexpr std::size_t kWeights = 21;  // the last columns have none

std::vector<float> some_numbers(Random& random, std::size_t count) {
  std::vector<float> numbers(count);
  for (float& x : numbers) x = static_cast<float>(2 * random.uniform() - 1);
  return numbers;
}

/// Half of the work of a column; zero for a third of the columns.
float change_of(float work, std::size_t column) { return column % 3 == 2 ? 0 : work / 2; }

/// Column after column, term after term.
std::vector<float> plain_pass(const PassCase& how, const std::vector<float>& couplings,
                              std::vector<float> work) {
  const auto coupling = [&](std::size_t c, std::size_t j) {
    if (how.is_diagonal) return c == j ? couplings[c] : 0.0F;
    return couplings[c * kWeights + j];
  };
  for (std::size_t first = 0; first < kColumns; first += how.step) {
    std::vector<float> changes(how.step * how.rows);
    for (std::size_t i = 0; i < changes.size(); ++i) {
      changes[i] = change_of(work[first * how.rows + i], first + i / how.rows);
    }
    for (std::size_t j = how.reaches_all ? 0 : first + how.step; j < kWeights; ++j) {
      for (std::size_t i = 0; i < changes.size(); ++i) {
        const std::size_t c = first + i / how.rows;
        if (c < kWeights) work[j * how.rows + i % how.rows] -= coupling(c, j) * changes[i];
      }
    }
  }
  return work;
}

TEST(ColumnPass, SubtractsTermAfterTermInAnyPanels) {
  Random random(1);
  for (const PassCase& how : {PassCase{1, 1, 24, false, false},
                              {1, 1, 8, true, false},
                              {16, 1, 8, false, false},
                              {5, 1, 7, true, false},
                              {16, 4, 8, false, false},
                              {16, 4, 8, true, false},
                              {3, 8, 24, true, false},
                              {16, 4, 8, true, true}}) {
    const std::size_t n = how.is_diagonal ? 1 : kWeights;
    const std::vector<float> couplings = some_numbers(random, n * kWeights);
    const std::vector<float> before = some_numbers(random, kColumns * how.rows);
    std::vector<float> work = before;
    std::vector<float> changes(work.size());
    const ColumnPass<float> pass{{couplings, n, kWeights},
                                 {work, kColumns, how.rows},
                                 {changes, kColumns, how.rows},
                                 how.step,
                                 how.panel,
                                 how.reaches_all};
    pass.run([&](std::size_t first) {
      for (std::size_t c = first; c < first + how.step; ++c) {
        for (std::size_t r = 0; r < how.rows; ++r) {
          pass.changes(c, r) = change_of(pass.work(c, r), c);
        }
      }
    });
    EXPECT_EQ(work, plain_pass(how, couplings, before))
        << how.rows << " rows in steps of " << how.step << " and panels of " << how.panel;
  }
}

TEST(ColumnPass, WithoutCouplingsVisitsOnly) {
  std::vector<float> work(6, 1.0F);
  std::vector<float> changes(6, 1.0F);
  std::vector<std::size_t> visited;
  ColumnPass<float>{{}, {work, 6, 1}, {changes, 6, 1}, 2, 4}.run(
      [&](std::size_t c) { visited.push_back(c); });
  EXPECT_EQ(visited, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(work, std::vector<float>(6, 1.0F));
}

}  // namespace
}  // namespace halftone::compress
