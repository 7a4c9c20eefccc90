// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/systolic.h"

#include <gtest/gtest.h>

#include "halftone/base/oracle_testing.h"

namespace halftone::accel {
namespace {

Dataflow dataflow_named(const std::string& name) {
  if (name == "os") return Dataflow::kOutputStationary;
  return name == "ws" ? Dataflow::kWeightStationary : Dataflow::kInputStationary;
}

std::uint64_t cycles_of(const oracle::Row& row) {
  const auto whole = [&](const char* heading) { return std::stoull(row.at(heading)); };
  return systolic_cycles({whole("rows"), whole("columns"), dataflow_named(row.at("dataflow"))},
                         {whole("m"), whole("n"), whole("k")});
}

TEST(Systolic, CountsCyclesAsPublishedTablesDo) {
  const std::vector<oracle::Row> rows = oracle::oracle_rows("systolic_cycles.csv");
  if (rows.empty()) GTEST_SKIP() << "no oracles; set HALFTONE_DATA";
  EXPECT_EQ(rows.size(), 418U);
  for (const oracle::Row& row : rows) {
    // The tables number cycles from zero and print the last number.
    EXPECT_EQ(cycles_of(row) - 1, std::stoull(row.at("cycles"))) << row.at("source");
  }
}

TEST(Systolic, CountsOneCycleForOneProduct) {
  for (const Dataflow dataflow : {Dataflow::kOutputStationary}) {
    EXPECT_EQ(systolic_cycles({1, 1, dataflow}, {1, 1, 1}), 1U);
  }
  // One more to load the operand that stays.
  EXPECT_EQ(systolic_cycles({1, 1, Dataflow::kWeightStationary}, {1, 1, 1}), 2U);
  EXPECT_EQ(systolic_cycles({1, 1, Dataflow::kInputStationary}, {1, 1, 1}), 2U);
}

TEST(Systolic, RoundsFoldsUp) {
  const SystolicArray array{4, 8, Dataflow::kOutputStationary};
  EXPECT_EQ(systolic_folds(array, {4, 8, 100}), 1U);
  EXPECT_EQ(systolic_folds(array, {5, 9, 100}), 4U);
  EXPECT_EQ(systolic_cycles(array, {5, 9, 100}), 4U * (100 + 4 + 8 - 2));
}

}  // namespace
}  // namespace halftone::accel
