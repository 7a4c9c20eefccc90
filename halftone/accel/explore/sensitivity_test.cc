// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/testing.h"

namespace halftone::accel {
namespace {

const std::string kTwoWidths = "accelerator = \"edge-2bit\"\nweight_bits = [1, 3]\n";

/// A perceptron of two layers and its samples.
struct TwoLayers {
  ir::Graph graph = compress::perceptron(12, 16, 4, 1);
  data::Dataset samples = compress::random_dataset(96, 12, 2);
  compress::Recipe recipe{};
  Space space = parse_space(kTwoWidths, "s.toml");

  [[nodiscard]] Measurement on() const {
    return {.graph = graph,
            .samples = samples,
            .evaluation = samples,
            .recipe = recipe,
            .recipe_text = ""};
  }
};

void expect_equal(const std::vector<LayerSensitivity>& a, const std::vector<LayerSensitivity>& b) {
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    EXPECT_EQ(a[i].pairs, b[i].pairs);
    ASSERT_EQ(a[i].losses.size(), b[i].losses.size());
    for (std::size_t j = 0; j < a[i].losses.size(); ++j) {
      EXPECT_EQ(a[i].losses[j].noise, b[i].losses[j].noise);
      EXPECT_EQ(a[i].losses[j].drop, b[i].losses[j].drop);
    }
  }
}

class Sensitivities : public WithFolder {};

TEST_F(Sensitivities, AreThoseOfALayerAlone) {
  const TwoLayers network;
  const Measurement on = network.on();
  const std::vector<LayerSensitivity> found = measure_sensitivities(on, network.space, {});
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[1].name, "second");
  EXPECT_EQ(found[1].pairs, (std::vector<BitPair>{{1, 1}, {3, 3}}));
  compress::Recipe recipe = compress::parse_recipe(
      "[default]\nskip = true\n[[layer]]\nname = \"second\"\nskip = false\nweight_bits = 1\n"
      "activation_bits = 1\n",
      "r.toml");
  const Loss alone = measure_loss(on, recipe);
  EXPECT_EQ(found[1].losses[0].noise, alone.noise);
  EXPECT_EQ(found[1].losses[0].drop, alone.drop);
  for (const LayerSensitivity& layer : found) {
    EXPECT_GT(layer.losses[0].noise, layer.losses[1].noise) << layer.name;
    EXPECT_GT(layer.losses[1].noise, 0) << layer.name;
    EXPECT_GE(layer.losses[0].drop, 0) << layer.name;
  }
}

TEST_F(Sensitivities, DoNotDependOnThreadsOrInterruptions) {
  const TwoLayers network;
  const Measurement on = network.on();
  set_num_threads(1);
  const std::vector<LayerSensitivity> expected = measure_sensitivities(on, network.space, {});
  set_num_threads(3);
  // Ends after the second measurement.
  Measurement interrupted = network.on();
  int measured = 0;
  interrupted.options.progress = [&](double fraction, std::string_view) {
    if (fraction >= 0.5 && ++measured > 0) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped",
               [&] { measure_sensitivities(interrupted, network.space, path("state.json")); });
  ASSERT_TRUE(std::filesystem::exists(path("state.json")));
  expect_equal(measure_sensitivities(on, network.space, path("state.json")), expected);
  // All is known now, so nothing is measured.
  interrupted.options.progress = [](double, std::string_view) {
    fail(ErrorKind::kInterrupted, "measures again");
  };
  expect_equal(measure_sensitivities(interrupted, network.space, path("state.json")), expected);
  set_num_threads(0);
}

TEST_F(Sensitivities, RejectStatesOfOtherMeasurements) {
  const TwoLayers network;
  measure_sensitivities(network.on(), network.space, path("state.json"));
  Measurement other = network.on();
  other.options.seed = 1;
  expect_error(ErrorKind::kFormat,
               "state.json: has sensitivities of another network, data, recipe or seed",
               [&] { measure_sensitivities(other, network.space, path("state.json")); });
  for (const char* text : {"", "{}", "[1]", "{\"kind\": \"halftone sensitivities\"}"}) {
    write_file(path("bad.json"), text);
    expect_error(ErrorKind::kFormat, "bad.json: expected measured sensitivities",
                 [&] { measure_sensitivities(network.on(), network.space, path("bad.json")); });
  }
}

TEST_F(Sensitivities, NeedLayersToQuantize) {
  TwoLayers network;
  network.recipe.defaults.skip = true;
  expect_error(ErrorKind::kUnsupported, "the recipe keeps all layers float",
               [&] { measure_sensitivities(network.on(), network.space, {}); });
}

TEST(BitsOfLayers, AreTheSameAsTextAndAsRecipe) {
  const std::vector<LayerChoice> layers = {{"a[0]", {2, 4}}, {"b \"c\"\\", {1, 8}}};
  const compress::Recipe written = compress::parse_recipe(bits_toml(layers), "r.toml");
  const compress::Recipe made = with_bits({}, layers);
  for (const LayerChoice& each : layers) {
    for (const compress::Recipe& recipe : {written, made}) {
      const compress::LayerRecipe layer = recipe.for_layer(each.name);
      ASSERT_TRUE(layer.weights && layer.activations) << each.name;
      EXPECT_EQ(layer.weights->bits, each.bits.weights) << each.name;
      EXPECT_EQ(layer.activations->bits, each.bits.inputs) << each.name;
    }
  }
  EXPECT_EQ(made.for_layer("a0").weights->bits, 3);  // [0] is no set of characters
}

TEST(DropCurve, PoolsNeighboursThatFall) {
  const DropCurve curve({{0.1, 0.02}, {0.4, 0.05}, {0.2, 0.04}, {0.3, 0.02}});
  EXPECT_DOUBLE_EQ(curve.drop(0), 0);
  EXPECT_DOUBLE_EQ(curve.drop(0.05), 0.01);
  EXPECT_DOUBLE_EQ(curve.drop(0.1), 0.02);
  EXPECT_DOUBLE_EQ(curve.drop(0.25), 0.03);  // the mean of 0.04 and 0.02
  EXPECT_DOUBLE_EQ(curve.drop(0.4), 0.05);
  EXPECT_DOUBLE_EQ(curve.drop(0.8), 0.1);  // proportional beyond what was measured
  EXPECT_DOUBLE_EQ(curve.drop(80), 1);
}

TEST(DropCurve, NeverFallsAndGainsCountAsZero) {
  const DropCurve curve({{0.1, -0.02}, {0.2, -0.01}, {0.3, 0.03}});
  double before = 0;
  for (double noise = 0; noise < 0.5; noise += 0.01) {
    EXPECT_GE(curve.drop(noise), before);
    before = curve.drop(noise);
  }
  EXPECT_EQ(curve.drop(0.1), 0);
  EXPECT_EQ(DropCurve({}).drop(1), 0);
}

}  // namespace
}  // namespace halftone::accel
