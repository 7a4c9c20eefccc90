// SPDX-License-Identifier: Apache-2.0
// Cross-layer equalization by a recipe.
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/compress/full_integer.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::compress {
namespace {

/// 20 - 16 - 16 - 4 with Relu between. Channels of a hidden layer have ranges between 2^-spread and
/// 2^spread, which the next layer undoes: the function is the same for every spread.
ir::Graph unequal_network(float spread) {
  Random random(3);
  ir::Graph graph;
  auto value = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 20}));
  const auto scale_of = [&](int layer, std::size_t channel) {
    const bool is_hidden = layer == 0 || layer == 1;
    return is_hidden ? std::exp2(spread * std::cos(static_cast<float>(channel) + 1)) : 1.0F;
  };
  const std::size_t widths[] = {20, 16, 16, 4};
  for (int l = 0; l < 3; ++l) {
    const std::size_t before = widths[l];
    const auto outputs = static_cast<ir::Dim>(widths[l + 1]);
    ir::Tensor w = random_tensor({outputs, static_cast<ir::Dim>(before)}, random, 0.3F);
    ir::Tensor b = random_tensor({outputs}, random, 0.1F);
    for (std::size_t i = 0; i < w.size(); ++i) {
      w.as<float>()[i] *= scale_of(l, i / before) / scale_of(l - 1, i % before);
    }
    for (std::size_t o = 0; o < b.size(); ++o) b.as<float>()[o] *= scale_of(l, o);
    const std::string name(1, static_cast<char>('a' + l));
    const ir::Activation activation{l < 2 ? ir::ActivationKind::kRelu
                                          : ir::ActivationKind::kIdentity};
    const auto weights = graph.add_constant(name + ".w", std::move(w));
    value = graph.add_node(name, ir::FullyConnected{activation},
                           {value, weights, graph.add_constant(name + ".b", std::move(b))});
  }
  graph.add_output(value);
  return graph;
}

Recipe recipe_with(const std::string& fit, const std::string& layers = "") {
  return parse_recipe(
      "[default]\nscheme = \"symmetric\"\ngranularity = \"tensor\"\nweight_bits = 6\n"
      "activation_bits = 8\n[fit]\n" +
          fit + "\n" + layers,
      "test");
}

QuantizedGraph fitted(float spread, const Recipe& recipe) {
  return quantize(unequal_network(spread), random_dataset(200, 20, 1), recipe);
}

TEST(EqualizeLayers, GivesWeightsWithOneScaleBackWhatUnequalChannelsLose) {
  const double even = fitted(0, recipe_with("")).layers.back().sqnr_db;
  const double uneven = fitted(6, recipe_with("")).layers.back().sqnr_db;
  EXPECT_LT(uneven, even - 10);
  const QuantizedGraph equalized = fitted(6, recipe_with("equalize = true"));
  EXPECT_EQ(equalized.equalized_pairs, 2U);
  EXPECT_GT(equalized.layers.back().sqnr_db, even - 1);
  // The network is the same one after equalization, whatever its channels were before, but for
  // roundings: a few of its 640 weights may have other codes, each with a share of the error of
  // 1/640, 0.007 dB.
  const QuantizedGraph from_even = fitted(0, recipe_with("equalize = true"));
  EXPECT_NEAR(equalized.layers.back().sqnr_db, from_even.layers.back().sqnr_db, 0.1);
}

TEST(EqualizeLayers, ComparesWithTheEqualizedNetwork) {
  for (const LayerReport& layer : fitted(6, recipe_with("equalize = true")).layers) {
    EXPECT_GT(layer.sqnr_db, 20) << layer.name;
    EXPECT_GT(layer.weight_sqnr_db, 20) << layer.name;
  }
}

TEST(EqualizeLayers, AppliesToFullIntegersToo) {
  const auto to_integers = [](bool equalize) {
    Recipe recipe;
    recipe.fit.equalize = equalize;
    return quantize_to_integers(unequal_network(6), random_dataset(200, 20, 1), recipe, {},
                                passes::kTfliteCodes);
  };
  const QuantizedGraph plain = to_integers(false);
  const QuantizedGraph equalized = to_integers(true);
  EXPECT_EQ(plain.equalized_pairs, 0U);
  EXPECT_EQ(equalized.equalized_pairs, 2U);
  // Weights have scales per channel, but the values between layers have one scale.
  EXPECT_GT(equalized.layers.back().sqnr_db, plain.layers.back().sqnr_db + 3);
  for (const LayerReport& layer : equalized.layers) EXPECT_GT(layer.sqnr_db, 25) << layer.name;
}

TEST(EqualizeLayers, KeepsSkippedLayers) {
  const std::string skip = "[[layer]]\nname = \"b\"\nskip = true";
  const ir::Graph original = unequal_network(6);
  const QuantizedGraph result =
      quantize(original, random_dataset(200, 20, 1), recipe_with("equalize = true", skip));
  EXPECT_EQ(result.equalized_pairs, 0U);
  const ir::Node& before = original.node(original.topological_order()[1]);
  for (const ir::NodeId id : result.graph.topological_order()) {
    const ir::Node& after = result.graph.node(id);
    if (after.name != "b") continue;
    EXPECT_EQ(result.graph.constant(after.inputs[1]), original.constant(before.inputs[1]));
  }
}

TEST(EqualizeLayers, TakesNetworksWithoutAPair) {
  const Recipe recipe = recipe_with("equalize = true");
  const QuantizedGraph result =
      quantize(perceptron(20, 16, 4, 2), random_dataset(50, 20, 1), recipe);
  EXPECT_EQ(result.equalized_pairs, 0U) << "Tanh is between its layers";
  EXPECT_GT(result.layers.back().sqnr_db, 15);
}

}  // namespace
}  // namespace halftone::compress
