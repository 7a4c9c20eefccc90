// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/searched_layers.h"

#include <gtest/gtest.h>

#include "halftone/accel/explore/drop_curve.h"
#include "halftone/base/testing.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/testing.h"

namespace halftone::accel {
namespace {

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
  Space space = parse_space("accelerator = \"edge-2bit\"\nweight_bits = [1, 3]\n", "s.toml");
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
