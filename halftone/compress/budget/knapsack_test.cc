// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/knapsack.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <string>

#include "halftone/base/oracle_testing.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

/// Checks that an answer is what it says: costs, sizes, budgets.
void expect_sound(const KnapsackProblem& problem, const KnapsackAnswer& answer) {
  ASSERT_EQ(answer.choices.size(), problem.items.size());
  double cost = 0;
  KnapsackSizes sizes{};
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const KnapsackChoice& choice = problem.items[i].at(answer.choices[i]);
    cost += choice.cost;
    for (std::size_t k = 0; k < 2; ++k) sizes[k] += choice.sizes[k];
  }
  EXPECT_EQ(answer.cost, cost);
  EXPECT_EQ(answer.sizes, sizes);
  EXPECT_LE(sizes[0], problem.budgets[0]);
  EXPECT_LE(sizes[1], problem.budgets[1]);
  EXPECT_LE(answer.least_cost, answer.cost);
}

/// The least costs by trying all choices.
std::optional<double> least_by_trial(const KnapsackProblem& problem, std::size_t from = 0,
                                     const KnapsackChoice& sum = {}) {
  if (sum.sizes[0] > problem.budgets[0] || sum.sizes[1] > problem.budgets[1]) return std::nullopt;
  if (from == problem.items.size()) return sum.cost;
  std::optional<double> least;
  for (const KnapsackChoice& each : problem.items[from]) {
    const auto found = least_by_trial(
        problem, from + 1,
        {sum.cost + each.cost, {sum.sizes[0] + each.sizes[0], sum.sizes[1] + each.sizes[1]}});
    if (found && (!least || *found < *least)) least = found;
  }
  return least;
}

/// Budgets between the least and the greatest sizes. @param share  of the range
void set_budgets(KnapsackProblem& problem, std::size_t count, double share) {
  for (std::size_t k = 0; k < count; ++k) {
    double least = 0;
    double range = 0;
    for (const auto& choices : problem.items) {
      const auto size = [k](const KnapsackChoice& each) { return each.sizes[k]; };
      const auto [low, high] = std::ranges::minmax(choices, {}, size);
      least += static_cast<double>(low.sizes[k]);
      range += static_cast<double>(high.sizes[k] - low.sizes[k]);
    }
    problem.budgets[k] = static_cast<std::int64_t>(least + share * range);
  }
}

/// Whole numbers, so that sums are exact and many are equal.
KnapsackProblem random_problem(Random& random, std::size_t items, std::size_t choices,
                               std::uint64_t largest) {
  KnapsackProblem problem;
  problem.items.resize(items, std::vector<KnapsackChoice>(choices));
  for (auto& item : problem.items) {
    for (KnapsackChoice& each : item) {
      each.cost = static_cast<double>(random.below(largest)) - 3;
      for (std::int64_t& size : each.sizes) size = static_cast<std::int64_t>(random.below(largest));
    }
  }
  return problem;
}

/// Layers of very different sizes: costs fall with the square of the number of levels; bytes are
/// proportional to bits, time nearly so.
KnapsackProblem layers_problem(Random& random, std::size_t items, std::size_t choices) {
  KnapsackProblem problem;
  for (std::size_t i = 0; i < items; ++i) {
    const double weights = 1000 * std::exp(6 * random.uniform());
    const double sensitivity = weights * std::exp(6 * random.uniform());
    std::vector<KnapsackChoice>& item = problem.items.emplace_back();
    for (std::size_t j = 0; j < choices; ++j) {
      const double bits = 1 + 0.5 * static_cast<double>(j);
      const double time = weights * (0.3 + bits * (0.9 + 0.2 * random.uniform()));
      item.push_back(
          {sensitivity * std::pow(4, -bits),
           {static_cast<std::int64_t>(weights * bits / 8), static_cast<std::int64_t>(time)}});
    }
  }
  return problem;
}

TEST(Knapsack, FindsWhatTrialFinds) {
  Random random(1);
  int within = 0;
  constexpr int kTrials = 3000;
  for (int trial = 0; trial < kTrials; ++trial) {
    // One after another: compilers evaluate arguments in orders of their own.
    const std::size_t items = 1 + random.below(6);
    const std::size_t choices = 1 + random.below(5);
    const std::size_t largest = 4 + random.below(60);
    KnapsackProblem problem = random_problem(random, items, choices, largest);
    const std::size_t num_budgets = 1 + random.below(2);
    set_budgets(problem, num_budgets, 0.7 * random.uniform());
    const std::optional<double> expected = least_by_trial(problem);
    if (expected) {
      const KnapsackAnswer answer = solve_knapsack(problem);
      expect_sound(problem, answer);
      EXPECT_TRUE(answer.is_optimal);
      EXPECT_EQ(answer.cost, *expected) << "trial " << trial;
      EXPECT_EQ(answer.least_cost, answer.cost);
      ++within;
    } else {
      expect_error(ErrorKind::kUsage, "budgets: expected at least",
                   [&] { (void)solve_knapsack(problem); });
    }
  }
  EXPECT_GT(within, kTrials / 2);
  EXPECT_LT(within, kTrials);
}

/// The least costs by GLPK.
double least_by_glpk(const KnapsackProblem& problem, const std::string& folder) {
  std::ofstream file(folder + "/problem.lp");
  std::string cost;
  std::array<std::string, 2> sizes;
  std::string once;
  std::string binaries;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    for (std::size_t j = 0; j < problem.items[i].size(); ++j) {
      const std::string name = " x" + std::to_string(i) + "_" + std::to_string(j) + "\n";
      const KnapsackChoice& each = problem.items[i][j];
      cost += (each.cost < 0 ? " - " : " + ") + std::to_string(std::llround(std::abs(each.cost))) +
              name;
      for (std::size_t k = 0; k < 2; ++k) sizes[k] += " + " + std::to_string(each.sizes[k]) + name;
      once += " +" + name;
      binaries += name;
    }
    once += " = 1\n";
  }
  file << "Minimize\n" << cost << "Subject To\n" << once;
  for (std::size_t k = 0; k < 2; ++k) file << sizes[k] << " <= " << problem.budgets[k] << "\n";
  file << "Binary\n" << binaries << "End\n";
  file.close();
  const std::string command = "glpsol --lp " + folder + "/problem.lp --cuts --tmlim 60 -w " +
                              folder + "/answer > " + folder + "/log";
  EXPECT_EQ(std::system(command.c_str()), 0);
  std::ifstream answer(folder + "/answer");
  for (std::string line; std::getline(answer, line);) {
    // "s mip ROWS COLUMNS o COST": o is an optimum.
    if (!line.starts_with("s mip")) continue;
    const std::size_t at = line.find(" o ");
    return at == std::string::npos ? std::nan("") : std::stod(line.substr(at + 3));
  }
  return std::nan("");
}

class KnapsackOracle : public WithFolder {};

/// HALFTONE_GLPK_PROBLEMS says how many, instead of 2.
TEST_F(KnapsackOracle, FindsWhatGlpkFinds) {
  if (std::system("command -v glpsol > /dev/null") != 0) GTEST_SKIP() << "needs glpk-utils";
  const char* set = std::getenv("HALFTONE_GLPK_PROBLEMS");
  const int trials = set != nullptr ? std::atoi(set) : 2;
  Random random(2);
  int compared = 0;
  for (int trial = 0; trial < trials; ++trial) {
    KnapsackProblem problem = random_problem(random, 60, 8, 10000);
    set_budgets(problem, 2, 0.2 + 0.2 * random.uniform());
    const KnapsackAnswer answer = solve_knapsack(problem);
    expect_sound(problem, answer);
    EXPECT_TRUE(answer.is_optimal);
    const double expected = least_by_glpk(problem, folder_.string());
    if (std::isnan(expected)) continue;                            // it takes too long
    EXPECT_NEAR(answer.cost, expected, 0.5) << "trial " << trial;  // whole numbers
    ++compared;
  }
  EXPECT_GE(compared, 0.9 * trials);
}

TEST(Knapsack, ProvesLargeProblems) {
  Random random(3);
  for (const std::size_t budgets : {1U, 2U}) {
    for (const double share : {0.1, 0.3, 0.6}) {
      KnapsackProblem problem = layers_problem(random, 300, 16);
      set_budgets(problem, budgets, share);
      const KnapsackAnswer answer = solve_knapsack(problem);
      expect_sound(problem, answer);
      EXPECT_TRUE(answer.is_optimal) << budgets << " budgets, " << share;
      problem = random_problem(random, 300, 16, 1000000);
      set_budgets(problem, budgets, 0.1 + share / 2);
      EXPECT_TRUE(solve_knapsack(problem).is_optimal) << budgets << " budgets, " << share;
    }
  }
}

TEST(Knapsack, BoundsWhatItDoesNotProve) {
  Random random(4);
  KnapsackProblem problem = layers_problem(random, 100, 8);
  set_budgets(problem, 2, 0.4);
  const KnapsackAnswer best = solve_knapsack(problem);
  const KnapsackAnswer quick = solve_knapsack(problem, {.max_sums = 1});
  expect_sound(problem, quick);
  EXPECT_FALSE(quick.is_optimal);
  EXPECT_LE(quick.least_cost, best.cost);
  EXPECT_GE(quick.cost, best.cost);
}

TEST(Knapsack, HasChoicesWithoutBudgets) {
  KnapsackProblem problem;
  EXPECT_TRUE(solve_knapsack(problem).choices.empty());
  problem.items = {{{3, {1, 1}}, {2, {9, 9}}}, {{-1, {5, 0}}, {-1, {4, 1}}, {-1, {4, 0}}}};
  const KnapsackAnswer answer = solve_knapsack(problem);
  EXPECT_THAT(answer.choices, testing::ElementsAre(1, 2)) << "the smallest of equal costs";
  EXPECT_EQ(answer.cost, 1);
  problem.budgets = {13, 9};
  EXPECT_EQ(solve_knapsack(problem).sizes, (KnapsackSizes{13, 9})) << "budgets are inclusive";
  problem.budgets = {12, kNoBudget};
  EXPECT_THAT(solve_knapsack(problem).choices, testing::ElementsAre(0, 2));
  for (auto& item : problem.items) {
    for (KnapsackChoice& each : item) each.cost = 7;
  }
  EXPECT_THAT(solve_knapsack(problem).choices, testing::ElementsAre(0, 2)) << "costs are equal";
}

TEST(Knapsack, RefusesWhatMakesNoSense) {
  KnapsackProblem problem{{{{1, {1, 8}}, {2, {8, 1}}}, {{1, {1, 8}}, {2, {8, 1}}}}};
  const auto expect = [&](ErrorKind kind, const std::string& text) {
    expect_error(kind, text, [&] { (void)solve_knapsack(problem); });
  };
  problem.budgets = {1, kNoBudget};
  expect(ErrorKind::kUsage, "budgets: expected at least 2, found 1");
  problem.budgets = {5, 5};
  expect(
      ErrorKind::kUsage,
      "budgets: expected at least 2 and 2, and more of one of them because not both are least at "
      "once, found 5 and 5");
  problem.budgets = {9, 9};
  EXPECT_EQ(solve_knapsack(problem).cost, 3);
  problem.items[1][0].cost = kNan;
  expect(ErrorKind::kUsage, "item 1: expected finite costs, found nan");
  problem.items[1][0] = {0, {-1, 0}};
  expect(ErrorKind::kUsage, "item 1: expected sizes from 0 to below 2^62, found -1");
  for (auto& item : problem.items) item[0] = {0, {std::int64_t{1} << 61, 0}};
  expect(ErrorKind::kUsage, "sizes: expected sums below 2^62, found more");
  problem.items[0].clear();
  expect(ErrorKind::kUsage, "item 0: expected choices, found none");
}

/// The size of a layer as the README of the table defines it, in whole units, and how many units
/// one of the table has.
struct HawqUnit {
  double units = 1;
  std::int64_t (*size)(const oracle::Row& row, int bits) = nullptr;
};

HawqUnit hawq_unit(const std::string& kind) {
  if (kind == "size") {
    return {8.0 * (1 << 20), [](const oracle::Row& row, int bits) -> std::int64_t {
              return std::llround(oracle::number(row, "parameters")) * std::int64_t{bits};
            }};
  }
  if (kind == "bops") {
    return {1024 * 1e6, [](const oracle::Row& row, int bits) -> std::int64_t {
              return std::llround(oracle::number(row, "macs")) * std::int64_t{bits * bits};
            }};
  }
  return {1e8, [](const oracle::Row& row, int bits) -> std::int64_t {
            const std::string heading = "latency_t4_" + std::to_string(bits) + "bit";
            return std::llround(oracle::number(row, heading) * 1e8);
          }};
}

TEST(Knapsack, FindsThePublishedBitsOfResNet18) {
  const std::vector<oracle::Row> rows = oracle::oracle_rows("hawq_resnet18.csv");
  const std::vector<oracle::Row> answers = oracle::oracle_rows("hawq_resnet18_answers.csv");
  if (rows.empty() || answers.empty()) GTEST_SKIP() << "needs the data for development: oracles/";
  EXPECT_EQ(answers.size(), 9U);
  for (const oracle::Row& answer : answers) {
    const HawqUnit unit = hawq_unit(answer.at("budget_kind"));
    KnapsackProblem problem;
    std::vector<std::size_t> item_of;  // tied layers are one item
    for (const oracle::Row& row : rows) {
      const std::string& tied = row.at("tied_with");
      const bool is_new = tied.empty() || std::stoul(tied) >= item_of.size();
      item_of.push_back(is_new ? problem.items.size() : item_of[std::stoul(tied)]);
      if (is_new) problem.items.emplace_back(2);
      for (std::size_t j = 0; j < 2; ++j) {
        const int bits = j == 0 ? 4 : 8;
        KnapsackChoice& choice = problem.items[item_of.back()][j];
        choice.cost += oracle::number(row, "sensitivity_" + std::to_string(bits) + "bit");
        choice.sizes[0] += unit.size(row, bits);
      }
    }
    problem.budgets[0] =
        static_cast<std::int64_t>((oracle::number(answer, "budget") + 1e-9) * unit.units);
    const KnapsackAnswer found = solve_knapsack(problem);
    EXPECT_TRUE(found.is_optimal);
    std::string bits;
    for (const std::size_t item : item_of) bits += found.choices[item] == 0 ? '4' : '8';
    EXPECT_EQ(bits, answer.at("optimal_bits"))
        << answer.at("budget_kind") << " " << answer.at("budget_fraction");
  }
}

}  // namespace
}  // namespace halftone::compress
