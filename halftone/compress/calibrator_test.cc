// SPDX-License-Identifier: Apache-2.0
// Calibrators of activation ranges, from the data to the levels of a quantized network.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/calibration.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/spmd/testing.h"

namespace halftone::compress {
namespace {

constexpr std::array kRangeCalibrators = {Calibrator::kMinMax, Calibrator::kMovingAverage,
                                          Calibrator::kPercentile, Calibrator::kMse,
                                          Calibrator::kKl};

/// Activations of some bits; float weights.
Recipe recipe_with(Calibrator calibrator, int bits, const char* scheme = "affine") {
  Recipe recipe;
  recipe.defaults.weight_bits = 0;
  recipe.defaults.activation_bits = bits;
  recipe.defaults.activation_system = &numerics::find_system(scheme);
  recipe.defaults.calibrator = calibrator;
  return recipe;
}

/// Two layers without activations between, so that values have long tails.
ir::Graph linear_layers(std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 20}));
  const auto h = add_layer(graph, "first", x, random_tensor({16, 20}, random, 0.3F), random);
  graph.add_output(add_layer(graph, "second", h, random_tensor({4, 16}, random, 0.3F), random));
  return graph;
}

/// The output of a layer over all samples.
std::vector<float> all_values(const Calibration& calibration, const ir::Graph& graph,
                              ir::ValueId id) {
  return calibration.collect(graph, {id, id}, calibration.num_samples()).elements[0];
}

TEST(CalibrationRanges, SeeEveryValueInOnePass) {
  const data::Dataset data = random_dataset(200, 20, 1);
  const ir::Graph graph = perceptron(20, 16, 4, 2);
  const std::vector<ir::ValueId> values = {graph.inputs()[0], graph.outputs()[0]};
  const Calibration calibration(data, 64);
  const std::vector<ValueStatistics> found = calibration.ranges(graph, values, 0.9, {});
  ASSERT_EQ(found.size(), 2u);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::vector<float> elements = all_values(calibration, graph, values[i]);
    Histogram expected;
    expected.add(elements);
    EXPECT_TRUE(found[i].values == expected) << i;
    // Batches of 64, 64, 64 and 8 samples.
    double low = 0;
    double high = 0;
    const std::size_t per_batch = 64 * elements.size() / 200;
    for (std::size_t first = 0; first < elements.size(); first += per_batch) {
      const std::size_t count = std::min(per_batch, elements.size() - first);
      const auto [least, largest] = std::ranges::minmax(std::span(elements).subspan(first, count));
      low = first == 0 ? double{least} : 0.9 * low + 0.1 * double{least};
      high = first == 0 ? double{largest} : 0.9 * high + 0.1 * double{largest};
    }
    EXPECT_NEAR(found[i].average.low, low, 1e-6);
    EXPECT_NEAR(found[i].average.high, high, 1e-6);
  }
}

TEST(CalibrationRanges, AreTheSameForAnyDevicesAndRanks) {
  const data::Dataset data = random_dataset(1000, 20, 3);
  const ir::Graph graph = perceptron(20, 16, 4, 4);
  const std::vector<ir::ValueId> values = {graph.inputs()[0], graph.outputs()[0]};
  const auto on = [&](const spmd::Devices& devices) {
    return Calibration(data, 64, devices).ranges(graph, values, 0.99, {});
  };
  const std::vector<ValueStatistics> one = on(spmd::Devices::emulate(1));
  std::vector<std::vector<ValueStatistics>> others = {on(spmd::Devices::emulate(2)),
                                                      on(spmd::Devices::emulate(7))};
  for (auto& each : spmd::LocalRanks(2).run(
           [&](const auto& ranks) { return on(spmd::Devices::over(ranks, 2)); })) {
    others.push_back(std::move(each));
  }
  for (const std::vector<ValueStatistics>& other : others) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      EXPECT_TRUE(other[i].values == one[i].values);
      EXPECT_EQ(other[i].average.low, one[i].average.low);
      EXPECT_EQ(other[i].average.high, one[i].average.high);
    }
  }
}

TEST(CalibrationRanges, RefuseValuesThatAreNotFinite) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 4}));
  graph.add_output(graph.add_node("log", ir::Unary{{ir::ActivationKind::kLog, 0, 0}}, {x}));
  expect_error(ErrorKind::kFormat, "calibration: value 'log' becomes NaN or infinite", [&] {
    const data::Dataset data = random_dataset(10, 4, 1);
    (void)Calibration(data, 64).ranges(graph, graph.outputs(), 0.99, {});
  });
}

TEST(Calibrators, CoverTheRangeTheyFind) {
  const data::Dataset data = random_dataset(300, 20, 5);
  const ir::Graph graph = perceptron(20, 16, 4, 6);
  const ValueStatistics input =
      Calibration(data, 64).ranges(graph, graph.inputs(), 0.99, {}).front();
  for (const Calibrator calibrator : kRangeCalibrators) {
    for (const char* scheme : {"affine", "int", "e4m3", "basis"}) {
      const int bits = scheme == std::string("basis") ? 4 : 8;
      const Recipe recipe = recipe_with(calibrator, bits, scheme);
      const QuantizedGraph result = quantize(graph, data, recipe);
      const ActivationFormat format = *recipe.for_layer("first").activations;
      const ParameterSpace space = ParameterSpace::of(
          empty_encoding({format.system, bits, true, numerics::Granularity::kTensor}, 1, 1));
      const numerics::LevelTable expected(levels_over(space, range_of(input, format.range, space)));
      ASSERT_TRUE(result.layers[0].activation_range);
      EXPECT_EQ(result.layers[0].activation_range->low, expected.levels().front()) << scheme;
      EXPECT_EQ(result.layers[0].activation_range->high, expected.levels().back()) << scheme;
      EXPECT_GT(result.layers[1].sqnr_db, bits == 8 ? 24 : 10)
          << to_string(calibrator) << " " << scheme;
    }
  }
}

TEST(Calibrators, WorkWithBothSchedulesAndTheFloatValues) {
  const data::Dataset data = random_dataset(300, 20, 7);
  const ir::Graph graph = perceptron(20, 16, 4, 8);
  for (const Calibrator calibrator : kRangeCalibrators) {
    Recipe recipe = recipe_with(calibrator, 8);
    for (const bool refit : {true, false}) {
      for (const Schedule schedule : {Schedule::kLayerwise, Schedule::kPhases}) {
        recipe.fit.refit_activations = refit;
        recipe.fit.schedule = schedule;
        const QuantizedGraph result = quantize(graph, data, recipe);
        EXPECT_GT(result.layers[1].sqnr_db, 24) << to_string(calibrator);
      }
    }
  }
}

TEST(Calibrators, SeeTheQuantizedNetworkOnlyIfActivationsAreRefitted) {
  const data::Dataset data = random_dataset(300, 20, 9);
  const ir::Graph graph = linear_layers(10);
  const ir::ValueId hidden = graph.node(graph.topological_order()[0]).output;
  const ValueStatistics original =
      Calibration(data, 64).ranges(graph, {&hidden, 1}, 0.99, {}).front();
  Recipe recipe = recipe_with(Calibrator::kMinMax, 3);
  recipe.defaults.weight_bits = 3;
  const auto range = [&] { return *quantize(graph, data, recipe).layers[1].activation_range; };
  const v0::LevelRange actual = range();
  recipe.fit.refit_activations = false;
  // Scale and offset are rounded to 11 bits each.
  const float tolerance = 2 * original.values.range().magnitude() * 0x1p-11F;
  EXPECT_NEAR(range().low, original.values.range().low, tolerance);
  EXPECT_NEAR(range().high, original.values.range().high, tolerance);
  EXPECT_GT(std::abs(actual.high - range().high) + std::abs(actual.low - range().low), 1e-3F);
}

TEST(Calibrators, EncodeRecurrentStates) {
  Random random(30);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 4, 12}));
  ir::Recurrent lstm;
  lstm.batch_major = true;
  const auto r = graph.add_constant("r", random_tensor({12, 3}, random));
  graph.add_output(graph.add_node("lstm", lstm, {x, r}));
  const data::Dataset data = random_dataset(70, 48, 31);
  const numerics::ValueRange states =
      Calibration(data, 64).ranges(graph, graph.outputs(), 0.99, {}).front().values.range();
  for (const Calibrator calibrator : kRangeCalibrators) {
    const QuantizedGraph result = quantize(graph, data, recipe_with(calibrator, 8));
    ASSERT_TRUE(result.layers[0].activation_range);
    EXPECT_GE(result.layers[0].activation_range->low, states.low - 0.01F);
    EXPECT_LE(result.layers[0].activation_range->high, states.high + 0.01F);
    EXPECT_GT(result.layers[0].sqnr_db, 25) << to_string(calibrator);
  }
}

TEST(Calibrators, GiveTheSameNetworkForAnyNumberOfThreads) {
  const data::Dataset data = random_dataset(300, 20, 11);
  for (const Calibrator calibrator : kRangeCalibrators) {
    const auto text = [&](int threads) {
      set_num_threads(threads);
      const QuantizedGraph result =
          quantize(perceptron(20, 16, 4, 12), data, recipe_with(calibrator, 4));
      std::vector<float> ends;
      for (const LayerReport& layer : result.layers) {
        ends.push_back(layer.activation_range->low);
        ends.push_back(layer.activation_range->high);
        ends.push_back(static_cast<float>(layer.sqnr_db));
      }
      return ends;
    };
    EXPECT_EQ(text(1), text(4)) << to_string(calibrator);
  }
  set_num_threads(0);
}

TEST(Calibrators, AreChosenLayerByLayer) {
  Recipe recipe = recipe_with(Calibrator::kMinMax, 8);
  recipe.overrides.push_back({"second", {}});
  recipe.overrides[0].settings.calibrator = Calibrator::kPercentile;
  recipe.overrides[0].settings.percentile = 60;
  const data::Dataset data = random_dataset(300, 20, 13);
  const ir::Graph graph = linear_layers(14);
  const QuantizedGraph result = quantize(graph, data, recipe);
  const QuantizedGraph all = quantize(graph, data, recipe_with(Calibrator::kMinMax, 8));
  const auto width = [](const LayerReport& layer) {
    return layer.activation_range->high - layer.activation_range->low;
  };
  EXPECT_EQ(width(result.layers[0]), width(all.layers[0]));
  EXPECT_LT(width(result.layers[1]), 0.7F * width(all.layers[1]));
}

TEST(Calibrators, RefuseWhatTheyCannotCover) {
  std::vector<float> x(50 * 6);
  const auto quantize_with = [&](const Recipe& recipe) {
    const auto array = data::make_npy(std::span<const float>(x), {50, 6});
    return quantize(perceptron(6, 5, 3, 33),
                    data::dataset_from_npy("x", own_bytes(data::npy_bytes(array)), {}, {}), recipe);
  };
  for (const Calibrator calibrator : kRangeCalibrators) {
    expect_error(ErrorKind::kUnsupported,
                 "node 'first' (FullyConnected): value 'x' cannot be encoded: it is 0 at all 300 "
                 "positions",
                 [&] { quantize_with(recipe_with(calibrator, 8)); });
  }
  x[123] = 5;
  Recipe recipe = recipe_with(Calibrator::kPercentile, 8);
  recipe.defaults.percentile = 90;
  expect_error(ErrorKind::kFormat,
               "node 'first' (FullyConnected): value 'x' cannot be encoded: it is 0 to 5 in the "
               "calibration data (calibrator percentile: the range has the single value 0 of "
               "values from 0 to 5; use another calibrator, such as fit or min-max)",
               [&] { quantize_with(recipe); });
}

}  // namespace
}  // namespace halftone::compress
