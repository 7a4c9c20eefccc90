// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/budget_search.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

/// The bytes of constants, and 1,000 for the rest of a file.
double bytes_of_constants(const ir::Graph& graph) {
  double bytes = 1000;
  for (const ir::NodeId id : graph.topological_order()) {
    for (const ir::ValueId input : graph.node(id).inputs) {
      const ir::Constant* constant = input == ir::kAbsent ? nullptr : graph.constant(input);
      if (constant != nullptr) bytes += static_cast<double>(storage_bytes(*constant));
    }
  }
  return bytes;
}

/// A time that follows from the bits: 10 us, and 1 us for each bit of a layer's weights.
RunCosts time_by_bits(const ir::Graph& graph, const std::vector<std::string>& layers) {
  RunCosts costs{std::vector<double>(layers.size(), 0), 10, {}, 0};
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_layer(node.op)) continue;
    const auto& weights = graph.value(node.inputs[1]).type.encoding;
    const double us = weights.codes == nullptr ? 32 : weights.codes->bits;
    costs.us += us;
    for (std::size_t i = 0; i < layers.size(); ++i) {
      if (layers[i] == node.name) costs.layer_us[i] = us;
    }
  }
  return costs;
}

SearchOptions options_for(Measure measure, double limit) {
  SearchOptions options;
  options.budget[measure] = limit;
  options.file_bytes = bytes_of_constants;
  return options;
}

const ir::Graph& searched_network() {
  static const ir::Graph graph = perceptron(20, 40, 4, 2);
  return graph;
}

std::vector<LayerChoice> all_bits() {
  return choices_named(std::vector<std::string>{"1", "2", "3", "4", "5", "6", "7", "8"});
}

TEST(BudgetSearch, NeverExceedsBytes) {
  const data::Dataset data = random_dataset(100, 20, 3);
  double last = std::numeric_limits<double>::infinity();
  for (const double limit : {1500.0, 1600.0, 1800.0, 2100.0}) {
    const SearchResult result = quantize_within(searched_network(), data, {}, all_bits(),
                                                options_for(Measure::kBytes, limit));
    const TriedAllocation& chosen = result.tries[result.chosen];
    EXPECT_TRUE(chosen.is_within);
    EXPECT_LE(bytes_of_constants(result.quantized.graph), limit);
    EXPECT_EQ(bytes_of_constants(result.quantized.graph), chosen.values[Measure::kBytes]);
    EXPECT_LT(chosen.values[Measure::kLoss], last) << "more bytes, less loss";
    last = chosen.values[Measure::kLoss];
    EXPECT_FALSE(result.front.empty());
  }
}

TEST(BudgetSearch, KeepsTheLossAndWritesARecipeThatGivesTheSameNetwork) {
  const data::Dataset data = random_dataset(100, 20, 3);
  const SearchResult result =
      quantize_within(searched_network(), data, {}, all_bits(), options_for(Measure::kLoss, 0.01));
  EXPECT_LE(result.tries[result.chosen].values[Measure::kLoss], 0.01);
  const Recipe again = parse_recipe(to_toml(result.recipe), "written");
  const QuantizedGraph repeated = quantize(searched_network(), data, again);
  ASSERT_EQ(repeated.layers.size(), result.quantized.layers.size());
  for (std::size_t i = 0; i < repeated.layers.size(); ++i) {
    EXPECT_EQ(repeated.layers[i].sqnr_db, result.quantized.layers[i].sqnr_db);
    EXPECT_EQ(repeated.layers[i].weight_bits, result.quantized.layers[i].weight_bits);
  }
}

TEST(BudgetSearch, LimitsTimeAndTwoMeasures) {
  const data::Dataset data = random_dataset(100, 20, 3);
  SearchOptions options = options_for(Measure::kTime, 17);
  options.sensitivity.costs = time_by_bits;
  const SearchResult fast = quantize_within(searched_network(), data, {}, all_bits(), options);
  EXPECT_EQ(fast.tries[fast.chosen].values[Measure::kTime], 17) << "all of the time is used";
  options.budget[Measure::kBytes] = 2200;
  const SearchResult both = quantize_within(searched_network(), data, {}, all_bits(), options);
  EXPECT_LE(both.tries[both.chosen].values[Measure::kTime], 17);
  EXPECT_LE(both.tries[both.chosen].values[Measure::kBytes], 2200);
}

/// Ten for each bit of the first layer's weights, one for each of the last.
double weighted_bits(const ir::Graph& graph) {
  double peak = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_layer(node.op)) continue;
    const auto& weights = graph.value(node.inputs[1]).type.encoding;
    peak = 10 * peak + (weights.codes == nullptr ? 32 : weights.codes->bits);
  }
  return peak;
}

TEST(BudgetSearch, LayersLoseTheChoicesWithAPeakAboveTheLimit) {
  const data::Dataset data = random_dataset(100, 20, 3);
  SearchOptions options = options_for(Measure::kBytes, 1e6);
  options.peak = weighted_bits;
  options.peak_limit = 42;
  options.front = 0;
  const SearchResult result = quantize_within(searched_network(), data, {}, all_bits(), options);
  EXPECT_LE(weighted_bits(result.quantized.graph), 42);
  // Five bits are too many in the first layer; four would be, beside eight in the last.
  const auto possible = [&](std::size_t choice) {
    return result.costs.choices[choice].units[0].is_possible;
  };
  EXPECT_TRUE(possible(2));
  EXPECT_FALSE(possible(3));
  EXPECT_FALSE(possible(4));
  EXPECT_EQ(result.tries[result.chosen].predicted.choices, (std::vector<std::size_t>{2, 7}));
}

/// The same, but that two layers of different bits, more than ten together, take 6 us more, which
/// no sum over layers tells.
RunCosts time_with_a_jump(const ir::Graph& graph, const std::vector<std::string>& layers) {
  RunCosts costs = time_by_bits(graph, layers);
  std::vector<int> bits;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!ir::is_layer(node.op)) continue;
    const auto& weights = graph.value(node.inputs[1]).type.encoding;
    bits.push_back(weights.codes == nullptr ? 32 : weights.codes->bits);
  }
  if (bits[0] != bits[1] && bits[0] + bits[1] > 10) costs.us += 6;
  return costs;
}

TEST(BudgetSearch, LooksBetweenATryThatLeavesMuchAndOneBeyondTheBudget) {
  const data::Dataset data = random_dataset(100, 20, 3);
  for (const double limit : {21.0, 22.0, 23.0}) {
    SearchOptions options = options_for(Measure::kTime, limit);
    options.sensitivity.costs = time_with_a_jump;
    const SearchResult result = quantize_within(searched_network(), data, {}, all_bits(), options);
    EXPECT_GT(result.tries[0].values[Measure::kTime], limit);
    EXPECT_LT(result.tries[1].values[Measure::kTime], 0.85 * limit);
    EXPECT_EQ(result.tries[result.chosen].values[Measure::kTime], 20);
  }
}

/// 1,000 instructions, and 100 for each bit of a layer's weights; no time.
RunCosts instructions_by_bits(const ir::Graph& graph, const std::vector<std::string>& layers) {
  const RunCosts times = time_by_bits(graph, layers);
  RunCosts counts;
  counts.instructions = 100 * times.us;
  for (const double us : times.layer_us) counts.layer_instructions.push_back(100 * us);
  return counts;
}

TEST(BudgetSearch, KeepsInstructions) {
  const data::Dataset data = random_dataset(100, 20, 3);
  SearchOptions options = options_for(Measure::kInstructions, 1700);
  options.sensitivity.costs = instructions_by_bits;
  options.rule_costs = instructions_by_bits;
  const SearchResult result = quantize_within(searched_network(), data, {}, all_bits(), options);
  const TriedAllocation& chosen = result.tries[result.chosen];
  EXPECT_EQ(chosen.values[Measure::kInstructions], 1700) << "seven bits in two layers";
  EXPECT_EQ(chosen.predicted.values[Measure::kInstructions], 1700);
  const v0::NetworkCosts known = known_costs(result.costs, chosen.values);
  EXPECT_EQ(known.instructions, 1700);
  EXPECT_FALSE(known.us.has_value());
  options.budget[Measure::kInstructions] = 1100;
  options.sensitivity.costs = [](const auto&, const auto&) -> RunCosts {
    ADD_FAILURE() << "nothing is measured";
    return {};
  };
  expect_error(ErrorKind::kUnsupported,
               "budget instructions=1100 cannot be met with these choices: the least is 1200",
               [&] { quantize_within(searched_network(), data, {}, all_bits(), options); });
}

TEST(BudgetSearch, IsTheSameForAnyNumberOfThreads) {
  const data::Dataset data = random_dataset(100, 20, 3);
  const auto recipe = [&](int threads) {
    set_num_threads(threads);
    return to_toml(quantize_within(searched_network(), data, {}, all_bits(),
                                   options_for(Measure::kBytes, 2600))
                       .recipe);
  };
  const std::string one = recipe(1);
  EXPECT_EQ(recipe(3), one);
  set_num_threads(0);
}

TEST(BudgetSearch, SaysWhatTheNearestHadIfNothingIsWithin) {
  const data::Dataset data = random_dataset(100, 20, 3);
  SearchOptions options = options_for(Measure::kTime, 13);
  options.tries = 1;
  // Each network takes longer than its layers.
  options.sensitivity.costs = [](const ir::Graph& graph, const std::vector<std::string>& layers) {
    RunCosts costs = time_by_bits(graph, layers);
    if (layers.empty()) costs.us += 100;
    return costs;
  };
  expect_error(ErrorKind::kUnsupported,
               "budget: no network within it was found in 1 try; the nearest has us=1",
               [&] { quantize_within(searched_network(), data, {}, all_bits(), options); });
}

}  // namespace
}  // namespace halftone::compress
