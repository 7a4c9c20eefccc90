// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/sensitivity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "halftone/base/file.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/layers.h"
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
    return {.graph = graph, .samples = samples, .evaluation = samples, .recipe = recipe};
  }

  [[nodiscard]] std::vector<LayerSensitivity> measured(
      const Measurement& how, const std::filesystem::path& state = {}) const {
    return measure_sensitivities(how, searched_layers(graph, recipe), space, state);
  }
  [[nodiscard]] std::vector<LayerSensitivity> measured() const { return measured(on()); }

  /// The loss of a network that is quantized with only this layer in its recipe.
  [[nodiscard]] Loss loss_alone(const std::string& layer, BitPair bits) const {
    compress::Recipe alone = recipe;
    alone.overrides.push_back({layer == "first" ? "second" : "first", {}});
    alone.overrides.back().settings.skip = true;
    return measure_loss(on(), with_bits(alone, {&layer, 1}, {&bits, 1}));
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
  TwoLayers network;
  network.space = parse_space(
      kTwoWidths +
          "activation_bits = [2, 4]\n[[layer]]\nname = \"first\"\nweight_bits = [2, 3]\n"
          "activation_bits = [4]\n",
      "s.toml");
  for (const char* fit : {"", "equalize = true", "schedule = \"phases\"",
                          "schedule = \"independent\"", "reconstruct_steps = 3"}) {
    network.recipe = compress::parse_recipe("[fit]\n" + std::string(fit), "r.toml");
    const std::vector<LayerSensitivity> found = network.measured();
    ASSERT_EQ(found.size(), 2U);
    EXPECT_EQ(found[0].name, "first");
    EXPECT_EQ(found[0].pairs, (std::vector<BitPair>{{2, 4}, {3, 4}}));
    EXPECT_EQ(found[1].pairs, (std::vector<BitPair>{{1, 2}, {1, 4}, {3, 2}, {3, 4}}));
    for (const LayerSensitivity& layer : found) {
      ASSERT_EQ(layer.losses.size(), layer.pairs.size());
      for (std::size_t i = 0; i < layer.pairs.size(); ++i) {
        const Loss alone = network.loss_alone(layer.name, layer.pairs[i]);
        EXPECT_EQ(layer.losses[i].noise, alone.noise) << fit << layer.name << i;
        EXPECT_EQ(layer.losses[i].drop, alone.drop) << fit << layer.name << i;
      }
      EXPECT_GT(layer.losses.front().noise, layer.losses.back().noise) << fit << layer.name;
      EXPECT_GT(layer.losses.back().noise, 0) << fit << layer.name;
      EXPECT_GE(layer.losses.front().drop, 0) << fit << layer.name;
    }
  }
}

TEST_F(Sensitivities, DoNotDependOnThreadsOrInterruptions) {
  const TwoLayers network;
  set_num_threads(1);
  const std::vector<LayerSensitivity> expected = network.measured();
  set_num_threads(3);
  // Ends after the first pair of bits.
  Measurement interrupted = network.on();
  interrupted.options.progress = [](double fraction, std::string_view) {
    if (fraction >= 0.5) fail(ErrorKind::kInterrupted, "stopped");
  };
  expect_error(ErrorKind::kInterrupted, "stopped",
               [&] { static_cast<void>(network.measured(interrupted, path("state.json"))); });
  ASSERT_TRUE(std::filesystem::exists(path("state.json")));
  // What was measured is not measured again.
  Measurement continued = network.on();
  continued.options.progress = [](double fraction, std::string_view) { EXPECT_GE(fraction, 0.5); };
  expect_equal(network.measured(continued, path("state.json")), expected);
  continued.options.progress = [](double, std::string_view activity) { FAIL() << activity; };
  expect_equal(network.measured(continued, path("state.json")), expected);
  set_num_threads(0);
}

TEST_F(Sensitivities, AreMeasuredAgainForOtherLayers) {
  TwoLayers network;
  const std::vector<LayerSensitivity> both = network.measured(network.on(), path("state.json"));
  network.space =
      parse_space(kTwoWidths + "[[layer]]\nname = \"first\"\nweight_bits = [2, 3]\n", "s.toml");
  const std::vector<LayerSensitivity> other = network.measured(network.on(), path("state.json"));
  expect_equal(other, network.measured());
  EXPECT_EQ(other[0].losses[1].noise, both[0].losses[1].noise);
}

TEST_F(Sensitivities, RejectStatesOfOtherMeasurements) {
  const TwoLayers network;
  const std::filesystem::path state = path("state.json");
  static_cast<void>(network.measured(network.on(), state));
  Measurement other = network.on();
  other.options.seed = 1;
  expect_error(ErrorKind::kFormat,
               "state.json: has losses of single layers of another job: expected seed '1', found "
               "'0'; name another file",
               [&] { static_cast<void>(network.measured(other, state)); });
  // The form that files had before.
  write_file(state, R"({"kind": "halftone sensitivities", "key": "0", "measured": []})");
  expect_error(ErrorKind::kFormat, "state.json: expected measured losses of single layers",
               [&] { static_cast<void>(network.measured(network.on(), state)); });
}

TEST(SearchedLayers, NeedLayersToQuantize) {
  compress::Recipe recipe;
  recipe.defaults.skip = true;
  expect_error(ErrorKind::kUnsupported, "the recipe keeps all layers float", [&] {
    static_cast<void>(searched_layers(compress::perceptron(12, 16, 4, 1), recipe));
  });
}

TEST(SearchedLayers, AreTiedIfTheyReadTheSameWeights) {
  ir::Graph graph = compress::perceptron(12, 12, 12, 1);
  const ir::Node first = graph.node(compress::quantizable_layers(graph)[0]);
  graph.set_outputs({graph.add_node("third [*]", first.op, {graph.outputs()[0], first.inputs[1]})});
  const SearchedLayers layers = searched_layers(graph, {});
  EXPECT_EQ(layers.names, (std::vector<std::string>{"first", "second", "third [*]"}));
  Space space = parse_space(kTwoWidths, "s.toml");
  space.ties = layers.shared;
  EXPECT_EQ(space.ties_of(layers.names), (std::vector<std::size_t>{0, 1, 0}));
}

TEST(BitsOfLayers, ReplaceThoseOfTheRecipe) {
  const std::vector<std::string> layers = {"a[0]", "b \"c\"\\\n"};
  const std::vector<BitPair> bits = {{2, 4}, {1, 8}};
  const compress::Recipe given =
      compress::parse_recipe("[[layer]]\nname = \"a*\"\nweight_bits = 5\n", "given.toml");
  const compress::Recipe made = with_bits(given, layers, bits);
  for (const compress::Recipe& recipe :
       {made, compress::parse_recipe(compress::to_toml(made), "r.toml")}) {
    for (std::size_t i = 0; i < layers.size(); ++i) {
      const compress::LayerRecipe layer = recipe.for_layer(layers[i]);
      ASSERT_TRUE(layer.weights && layer.activations) << layers[i];
      EXPECT_EQ(layer.weights->bits, bits[i].weights) << layers[i];
      EXPECT_EQ(layer.activations->bits, bits[i].inputs) << layers[i];
    }
    EXPECT_EQ(recipe.for_layer("a0").weights->bits, 5);  // [0] is no set of characters
  }
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
