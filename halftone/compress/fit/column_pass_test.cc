// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/column_pass.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/random.h"

namespace halftone::compress {
namespace {

struct PassCase {
  PassLayout layout;
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

/// Column after column, term after term. Work is [columns, rows].
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

/// A matrix of columns in a layout, and back.
std::vector<float> laid_out(const PassCase& how, const std::vector<float>& columns, bool back) {
  if (how.layout == PassLayout::kLanes) return columns;
  std::vector<float> result(columns.size());
  for (std::size_t c = 0; c < kColumns; ++c) {
    for (std::size_t r = 0; r < how.rows; ++r) {
      const std::size_t at = c * how.rows + r;
      const std::size_t other = r * kColumns + c;
      (back ? result[at] : result[other]) = back ? columns[other] : columns[at];
    }
  }
  return result;
}

constexpr auto kRows = PassLayout::kRows;
constexpr auto kLanes = PassLayout::kLanes;

TEST(ColumnPass, SubtractsTermAfterTermInAnyPanels) {
  Random random(1);
  for (const PassCase& how : {PassCase{kRows, 1, 1, 24, false, false},
                              {kRows, 1, 1, 8, true, false},
                              {kRows, 16, 1, 8, false, false},
                              {kRows, 5, 1, 7, true, false},
                              {kRows, 5, 2, 8, true, false},
                              {kLanes, 16, 1, 8, false, false},
                              {kLanes, 16, 4, 8, false, false},
                              {kLanes, 16, 4, 8, true, false},
                              {kLanes, 3, 8, 24, true, false},
                              {kLanes, 16, 4, 8, true, true}}) {
    const std::size_t n = how.is_diagonal ? 1 : kWeights;
    const std::vector<float> couplings = some_numbers(random, n * kWeights);
    const std::vector<float> before = some_numbers(random, kColumns * how.rows);
    std::vector<float> work = laid_out(how, before, false);
    std::vector<float> changes(work.size());
    const auto view = [&](std::vector<float>& numbers) {
      return how.layout == kRows ? MatrixView<float>(numbers, how.rows, kColumns)
                                 : MatrixView<float>(numbers, kColumns, how.rows);
    };
    const ColumnPass<float> pass{
        {couplings, n, kWeights}, view(work), view(changes), how.layout, how.step, how.panel,
        how.reaches_all};
    pass.run([&](std::size_t first) {
      for (std::size_t c = first; c < first + how.step; ++c) {
        for (std::size_t r = 0; r < how.rows; ++r) {
          const std::size_t row = how.layout == kRows ? r : c;
          const std::size_t col = how.layout == kRows ? c : r;
          pass.changes(row, col) = change_of(pass.work(row, col), c);
        }
      }
    });
    EXPECT_EQ(laid_out(how, work, true), plain_pass(how, couplings, before))
        << how.rows << " rows in steps of " << how.step << " and panels of " << how.panel;
  }
}

TEST(ColumnPass, KeepsStreamsApart) {
  Random random(2);
  constexpr std::size_t kLanesOfStream = 4;
  constexpr std::size_t kStreams = 2;
  for (const bool is_diagonal : {false, true}) {
    const std::vector<float> couplings =
        some_numbers(random, is_diagonal ? kWeights : kWeights * kWeights);
    const MatrixView<const float> coupling_view(couplings, is_diagonal ? 1 : kWeights, kWeights);
    std::vector<float> work = some_numbers(random, kStreams * kColumns * kLanesOfStream);
    std::vector<float> changes(work.size());
    const MatrixView<float> all(work, kStreams * kColumns, kLanesOfStream);
    const MatrixView<float> all_changes(changes, kStreams * kColumns, kLanesOfStream);
    const auto run = [&](MatrixView<float> columns, MatrixView<float> moved, std::size_t streams) {
      ColumnPass<float> pass{coupling_view, columns, moved, kLanes, 2 * streams, 8 * streams, true};
      pass.streams = streams;
      pass.run([&](std::size_t first) {
        for (std::size_t c = first; c < first + 2 * streams; ++c) {
          for (std::size_t r = 0; r < kLanesOfStream; ++r) {
            pass.changes(c, r) = change_of(pass.work(c, r), c / streams);
          }
        }
      });
    };
    std::vector<std::vector<float>> alone;
    for (std::size_t s = 0; s < kStreams; ++s) {
      const MatrixView<float> stream = stream_of(all, s, kStreams);
      std::vector<float>& own = alone.emplace_back();
      for (std::size_t c = 0; c < kColumns; ++c) {
        own.insert(own.end(), stream.row(c).begin(), stream.row(c).end());
      }
      std::vector<float> moved(own.size());
      run({own, kColumns, kLanesOfStream}, {moved, kColumns, kLanesOfStream}, 1);
    }
    run(all, all_changes, kStreams);
    for (std::size_t c = 0; c < kStreams * kColumns; ++c) {
      for (std::size_t r = 0; r < kLanesOfStream; ++r) {
        EXPECT_EQ(all(c, r), alone[c % kStreams][c / kStreams * kLanesOfStream + r]);
      }
    }
  }
}

TEST(ColumnPass, WithoutCouplingsVisitsOnly) {
  std::vector<float> work(6, 1.0F);
  std::vector<float> changes(6, 1.0F);
  std::vector<std::size_t> visited;
  ColumnPass<float>{{}, {work, 1, 6}, {changes, 1, 6}, kRows, 2, 4}.run(
      [&](std::size_t c) { visited.push_back(c); });
  EXPECT_EQ(visited, (std::vector<std::size_t>{0, 2, 4}));
  EXPECT_EQ(work, std::vector<float>(6, 1.0F));
}

}  // namespace
}  // namespace halftone::compress
