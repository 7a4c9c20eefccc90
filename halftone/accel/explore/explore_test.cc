// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/explore.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/budget/nondominated.h"
#include "halftone/compress/budget/sum_front.h"

namespace halftone::accel {
namespace {

Operation layer_operation(const std::string& name, std::size_t inner, std::size_t cols,
                          BitPair bits) {
  Operation result{.name = name, .op = "FullyConnected"};
  constexpr std::size_t kRows = 64;
  result.product = {1, kRows, inner, cols, {bits.inputs, false}, {bits.weights, false}, 32, 1};
  const auto bytes = [](std::size_t count, int width) {
    return static_cast<double>(count) * width / 8;
  };
  result.outputs = static_cast<double>(kRows * cols);
  result.reads = {{TensorRole::kInputs, bytes(kRows * inner, bits.inputs)},
                  {TensorRole::kWeights, bytes(inner * cols, bits.weights)}};
  result.writes = {{TensorRole::kOutputs, 4 * result.outputs}};
  return result;
}

Operation add_operation(const std::string& name) {
  Operation result{.name = name, .op = "Add"};
  result.operations = result.outputs = 1e4;
  result.reads = {{TensorRole::kInputs, 4e4}};
  result.writes = {{TensorRole::kOutputs, 4e4}};
  return result;
}

const std::vector<std::string> kLayers = {"a", "b", "c"};

/// Three layers, with their bits, and an addition after the first one.
Workload workload_with(const std::vector<BitPair>& bits) {
  Workload workload{"test", 1, {}};
  workload.operations = {layer_operation("a", 64, 256, bits[0]), add_operation("sum"),
                         layer_operation("b", 256, 256, bits[1]), add_operation("c/encode"),
                         layer_operation("c", 256, 64, bits[2])};
  return workload;
}

const std::string kSmallSpace = R"(
accelerator = "edge-2bit"
weight_bits = [1, 2, 4]
[[parameter]]
keys = ["unit.bit-serial array.count", "memory.cell registers.count"]
values = [[2, 2], [8, 8]]
[[parameter]]
keys = ["memory.SRAM.bytes", "memory.cell registers.bytes"]
values = [[300000, 65536], [600000, 65536]]
[[area]]
of = ["unit.bit-serial array.count"]
mm2 = 0.1
[[area]]
of = ["memory.SRAM.bytes"]
mm2 = 1e-6
)";

/// A space, its uniform workloads, and random sensitivities.
struct Problem {
  Space space;
  std::vector<Workload> by_pair;
  compress::Sensitivity losses;

  explicit Problem(const std::string& text) : space(parse_space(text, "s.toml")) {
    Random random(3);
    for (const BitPair& pair : space.pairs_of(kLayers)) {
      by_pair.push_back(workload_with({pair, pair, pair}));
      losses.choices.push_back({std::to_string(pair.weights), {}, {}});
    }
    for (const std::string& name : kLayers) {
      losses.layers.push_back({name, "FullyConnected"});
      for (compress::ChoiceSensitivity& choice : losses.choices) {
        const double noise = random.uniform() * std::pow(4, -std::stoi(choice.name));
        choice.units.push_back({0, noise, 0, noise / 2});
      }
    }
  }

  Exploration explore(const SearchSettings& options) const {
    return accel::explore(space, losses, by_pair, options);
  }

  /// All designs, each estimated as a whole network.
  [[nodiscard]] std::vector<Design> all_designs() const {
    std::vector<Design> designs;
    for (std::size_t hardware = 0; hardware < space.num_hardware(); ++hardware) {
      const Accelerator chip = space.hardware(hardware);
      for (const std::size_t a : {0U, 1U, 2U}) {
        for (const std::size_t b : {0U, 1U, 2U}) {
          for (const std::size_t c : {0U, 1U, 2U}) {
            Design design{.hardware = hardware, .area_mm2 = chip.area_mm2};
            const std::vector<BitPair> pairs = space.pairs_of(kLayers);
            design.bits = {pairs[a], pairs[b], pairs[c]};
            design.noise = losses.choices[a].units[0].loss + losses.choices[b].units[1].loss +
                           losses.choices[c].units[2].loss;
            const Estimate whole = estimate(workload_with(design.bits), chip);
            design.seconds = whole.seconds;
            design.energy_j = whole.energy_j;
            designs.push_back(design);
          }
        }
      }
    }
    return designs;
  }
};

/// The front by comparing designs, in the order that explore() has.
std::vector<Design> front_by_comparison(const std::vector<Design>& designs,
                                        const SearchSettings& options) {
  std::vector<Design> within;
  std::vector<compress::Criteria> points;
  for (const Design& each : designs) {
    if (options.budget.area_mm2 && each.area_mm2 > *options.budget.area_mm2) continue;
    if (options.budget.seconds && each.seconds > *options.budget.seconds) continue;
    if (options.budget.energy_j && each.energy_j > *options.budget.energy_j) continue;
    within.push_back(each);
    points.push_back({objective_of(each, options.objective), each.noise, each.area_mm2});
  }
  std::vector<Design> front;
  for (const std::size_t i : compress::nondominated(points)) front.push_back(within[i]);
  return front;
}

void expect_front(const std::vector<Design>& found, const std::vector<Design>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  // Sums of five operations in other orders: relative errors of a few epsilon.
  constexpr double kRounding = 1e-14;
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].hardware, expected[i].hardware) << i;
    EXPECT_EQ(found[i].bits, expected[i].bits) << i;
    EXPECT_NEAR(found[i].seconds, expected[i].seconds, kRounding * expected[i].seconds) << i;
    EXPECT_NEAR(found[i].energy_j, expected[i].energy_j, kRounding * expected[i].energy_j) << i;
    EXPECT_EQ(found[i].area_mm2, expected[i].area_mm2) << i;
  }
}

TEST(Explore, FindsTheFrontOfAllDesigns) {
  const Problem problem(kSmallSpace);
  const std::vector<Design> designs = problem.all_designs();
  for (const Objective objective : {Objective::kTime, Objective::kEnergy, Objective::kEdp}) {
    const SearchSettings options{.objective = objective};
    const Exploration found = problem.explore(options);
    expect_front(found.front, front_by_comparison(designs, options));
    EXPECT_EQ(found.num_hardware, 4U);
    EXPECT_EQ(found.num_within, 4U);
    EXPECT_EQ(found.num_designs, 4 * 27);
  }
}

TEST(Explore, KeepsLimits) {
  const Problem problem(kSmallSpace);
  const std::vector<Design> designs = problem.all_designs();
  std::vector<double> times;
  for (const Design& each : designs) times.push_back(each.seconds);
  std::ranges::sort(times);
  SearchSettings options{.objective = Objective::kEnergy};
  options.budget.area_mm2 = 0.9;
  options.budget.seconds = times[times.size() / 2];
  const Exploration found = problem.explore(options);
  EXPECT_LT(found.num_within, 4U);
  expect_front(found.front, front_by_comparison(designs, options));
}

TEST(Explore, IsTheSameForAnyNumberOfThreads) {
  const Problem problem(kSmallSpace);
  set_num_threads(1);
  const std::vector<Design> one = problem.explore({}).front;
  set_num_threads(4);
  const std::vector<Design> four = problem.explore({}).front;
  set_num_threads(0);
  ASSERT_EQ(one.size(), four.size());
  for (std::size_t i = 0; i < one.size(); ++i) {
    EXPECT_EQ(one[i].bits, four[i].bits);
    EXPECT_EQ(one[i].seconds, four[i].seconds);
    EXPECT_EQ(one[i].noise, four[i].noise);
  }
}

TEST(Explore, LadderFallsInNoise) {
  const Exploration found = Problem(kSmallSpace).explore({});
  const std::vector<const Design*> ladder = found.ladder();
  ASSERT_GT(ladder.size(), 2U);
  EXPECT_EQ(ladder.front(), &found.front.front());
  for (std::size_t i = 1; i < ladder.size(); ++i) {
    EXPECT_LT(ladder[i]->noise, ladder[i - 1]->noise);
    EXPECT_GE(ladder[i]->seconds, ladder[i - 1]->seconds);
  }
}

TEST(Explore, TiedLayersHaveTheSameBits) {
  const Problem problem(kSmallSpace + "[[tie]]\nlayers = [\"a\", \"c\"]\n");
  std::vector<Design> tied = problem.all_designs();
  std::erase_if(tied, [](const Design& each) { return each.bits[0] != each.bits[2]; });
  const Exploration found = problem.explore({});
  EXPECT_EQ(found.num_designs, 4 * 9);
  expect_front(found.front, front_by_comparison(tied, {}));
}

TEST(Explore, SaysWhyThereIsNoDesign) {
  SearchSettings options;
  options.budget.area_mm2 = 0.25;
  expect_error(ErrorKind::kUnsupported,
               "no hardware of the space has an area of at most 0.25 mm2: allow more area",
               [&] { Problem(kSmallSpace).explore(options); });
  options = {};
  options.budget.seconds = 1e-12;
  expect_error(ErrorKind::kUnsupported, "no design is within the budget of time and energy",
               [&] { Problem(kSmallSpace).explore(options); });
  expect_error(ErrorKind::kUsage,
               "unit.vector unit.operations_per_cycle = 0: 'operations_per_function' is of "
               "operations, but unit 'vector unit' has no operations_per_cycle",
               [&] {
                 Problem(kSmallSpace +
                         "[[parameter]]\nkey = \"unit.vector unit.operations_per_cycle\"\n"
                         "values = [0]\n")
                     .explore({});
               });
}

TEST(Explore, LeavesOutBitsThatFitNoMemory) {
  const Problem problem(
      "accelerator = \"edge-2bit\"\nweight_bits = [1, 2, 8]\n[[parameter]]\n"
      "key = \"memory.cell registers.bytes\"\nvalues = [4096]\n");
  const Exploration found = problem.explore({});
  for (const Design& each : found.front) {
    for (const BitPair& pair : each.bits) EXPECT_LT(pair.weights, 8);
  }
}

TEST(Explore, EstimatesDesignsWithTheWeightsThatTheyHave) {
  // Whether weights and activations share the small memory depends on the bits of all layers.
  std::string text = kSmallSpace;
  text.replace(text.find("300000"), 6, "90000");
  const Problem problem(text);
  const std::vector<Design> designs = problem.all_designs();
  for (const Design& each : problem.explore({}).front) {
    const auto same = std::ranges::find_if(designs, [&](const Design& other) {
      return other.hardware == each.hardware && other.bits == each.bits;
    });
    ASSERT_NE(same, designs.end());
    EXPECT_NEAR(each.seconds, same->seconds, 1e-14 * same->seconds);
  }
  expect_front(problem.explore({}).front, front_by_comparison(designs, {}));
}

TEST(Explore, NeedsAllLayersInTheWorkload) {
  Problem problem(kSmallSpace);
  problem.by_pair[1].operations.pop_back();
  expect_error(ErrorKind::kInternal, "layer 'c' has no operation in the network as it runs",
               [&] { problem.explore({}); });
}

TEST(Budget, ReadsLimits) {
  const Budget budget = parse_budget("area=2.5,accuracy-drop=0.02,time=1e-3,energy=4e-6");
  EXPECT_EQ(budget.area_mm2, 2.5);
  EXPECT_EQ(budget.accuracy_drop, 0.02);
  EXPECT_EQ(budget.seconds, 1e-3);
  EXPECT_EQ(budget.energy_j, 4e-6);
  EXPECT_EQ(parse_budget("").accuracy_drop, 0.01);
  for (const char* text : {"size=3", "area", "=3"}) {
    expect_error(ErrorKind::kUsage, "expected area=MM2, accuracy-drop=FRACTION, time=SECONDS",
                 [&] { parse_budget(text); });
  }
  for (const char* text : {"area=", "area=x", "area=-1", "area=inf", "area=1mm"}) {
    expect_error(ErrorKind::kUsage, "expected a number of at least 0", [&] { parse_budget(text); });
  }
  expect_error(ErrorKind::kUsage, "budget: energy: expected a number of at least 0, found -1",
               [] { check_budget({.energy_j = -1}); });
  EXPECT_EQ(objective_named("edp"), Objective::kEdp);
  expect_error(ErrorKind::kUsage, "expected one of time, energy, edp, found 'area'",
               [] { objective_named("area"); });
}

}  // namespace
}  // namespace halftone::accel
