// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/table_fit.h"

#include <gtest/gtest.h>

#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/numerics/distortion.h"
#include "halftone/numerics/test_data.h"

namespace halftone::compress {
namespace {

using numerics::Granularity;

constexpr std::size_t kTableRows = 150;
constexpr std::size_t kTableWidth = 40;

/// Normal numbers; those of the second half of the rows are wider.
std::vector<float> some_table(float widest = 4) {
  Random random(1);
  std::vector<float> table = numerics::random_floats(random, kTableRows * kTableWidth);
  for (std::size_t i = table.size() / 2; i < table.size(); ++i) table[i] *= widest;
  return table;
}

MatrixView<const float> rows_of(const std::vector<float>& table, std::size_t first = 0,
                                std::size_t count = kTableRows) {
  return MatrixView<const float>(table, kTableRows, kTableWidth).rows_from(first, count);
}

WeightFormat format_of(Granularity granularity, int bits = 3) {
  return {&numerics::find_system("basis"), bits, true, granularity,
          granularity == Granularity::kGroup ? std::size_t{16} : std::size_t{0}};
}

/// Of some rows of a fit.
double sqnr_db(const std::vector<float>& table, const MatrixFit& fit, std::size_t first,
               std::size_t count) {
  const std::vector<float> levels = numerics::decode(fit.codes, fit.encoding);
  numerics::Distortion distortion;
  distortion.add(std::span(table).subspan(first * kTableWidth, count * kTableWidth),
                 std::span(levels).subspan(first * kTableWidth, count * kTableWidth));
  return distortion.sqnr_db();
}

TEST(TableFit, EachBlockIsFittedForItselfToTheNearestLevels) {
  const std::vector<float> table = some_table();
  for (const auto granularity : {Granularity::kChannel, Granularity::kGroup}) {
    const WeightFormat format = format_of(granularity);
    const MatrixFit fit = fit_table(rows_of(table), format, {}, {});
    EXPECT_EQ(fit.codes, numerics::encode(rows_of(table), fit.encoding));
    const ParameterSpace space(format.bits, format.offset);
    for_each_block(fit.encoding, kTableRows, kTableWidth,
                   [&](std::size_t index, std::size_t row, std::size_t first, std::size_t count) {
                     const auto block = std::span(table).subspan(row * kTableWidth + first, count);
                     EXPECT_EQ(fit.encoding.basis(index),
                               fit_levels(space, block, {}, {}).levels.basis());
                   });
  }
}

// Tables of 4 bits whose scales share factors: those of the rule, and an error below the rule's.
TEST(TableFit, KeepsTheFactorsThatScalesShare) {
  const std::vector<float> table = some_table();
  for (const char* name : {"nvfp4", "int_k", "affine_k"}) {
    WeightFormat format = format_of(Granularity::kGroup, 4);
    format.system = &numerics::find_system(name);
    format.group_size = 4;
    const MatrixFit fit = fit_table(rows_of(table), format, {}, {});
    const numerics::MatrixEncoding by_rule =
        numerics::encoding_by_rule(*format.system, 4, {Granularity::kGroup, 4}, rows_of(table));
    const auto same = [](std::span<const std::byte> a, std::span<const std::byte> b) {
      return std::ranges::equal(a, b);
    };
    EXPECT_TRUE(same(fit.encoding.scales.factor_bytes(), by_rule.scales.factor_bytes())) << name;
    EXPECT_TRUE(same(fit.encoding.offsets.factor_bytes(), by_rule.offsets.factor_bytes())) << name;
    MatrixFit rule;
    rule.encoding = by_rule;
    rule.codes = numerics::encode(rows_of(table), by_rule);
    EXPECT_GT(sqnr_db(table, fit, 0, kTableRows), sqnr_db(table, rule, 0, kTableRows)) << name;
  }
}

TEST(TableFit, LosesLessWithMoreBitsAndFinerBases) {
  const std::vector<float> table = some_table();
  double last_bits = 0;
  for (int bits = 1; bits <= 6; ++bits) {
    const double db =
        sqnr_db(table, fit_table(rows_of(table), format_of(Granularity::kChannel, bits), {}, {}), 0,
                kTableRows);
    EXPECT_GT(db, last_bits + 3) << bits;
    last_bits = db;
  }
  double last = 0;
  for (const auto granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    const MatrixFit fit = fit_table(rows_of(table), format_of(granularity), {}, {});
    const double db = sqnr_db(table, fit, 0, kTableRows);
    EXPECT_GT(db, last) << to_string(granularity);
    last = db;
  }
}

TEST(TableFit, OneBasisForAllIsBetterForRowsThatAreUsed) {
  // If all rows are alike, the fit does not depend on how often each is used.
  const std::vector<float> table = some_table();
  std::vector<std::size_t> uses(kTableRows);
  for (std::size_t r = 0; r < kTableRows / 2; ++r) uses[r] = 7;
  const WeightFormat format = format_of(Granularity::kTensor, 2);
  const MatrixFit plain = fit_table(rows_of(table), format, {}, {});
  const MatrixFit used = fit_table(rows_of(table), format, {uses}, {});
  EXPECT_GT(sqnr_db(table, used, 0, kTableRows / 2), sqnr_db(table, plain, 0, kTableRows / 2));
  // Rows that are never used keep half of their weight.
  EXPECT_GT(sqnr_db(table, used, kTableRows / 2, kTableRows / 2),
            sqnr_db(table, plain, kTableRows / 2, kTableRows / 2) - 1);
  const std::vector<std::size_t> alike(kTableRows, 5);
  EXPECT_EQ(fit_table(rows_of(table), format, {alike}, {}).codes, plain.codes);
}

TEST(TableFit, ThreadsDoNotMatter) {
  const std::vector<float> table = some_table();
  for (const auto granularity :
       {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
    const auto fit = [&](int threads) {
      set_num_threads(threads);
      return fit_table(rows_of(table), format_of(granularity), {}, {});
    };
    const MatrixFit one = fit(1);
    const MatrixFit three = fit(3);
    EXPECT_EQ(one.encoding, three.encoding);
    EXPECT_EQ(one.codes, three.codes);
  }
  set_num_threads(0);
}

}  // namespace
}  // namespace halftone::compress
