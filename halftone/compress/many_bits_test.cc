// SPDX-License-Identifier: Apache-2.0
// More bits lose less, up to the largest number of them, and reports say what files compute.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/compress/evaluate.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

constexpr ir::Dim kWidth = 20;

/// Most numbers are small and few are large, as those behind a hard-swish are: levels that follow
/// them are far closer to each other around zero than at the ends of the range.
data::Dataset skewed_dataset(std::size_t samples, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(samples * kWidth);
  for (float& value : x) {
    const double normal = random.normal();
    value = static_cast<float>(normal < 0 ? normal / 16 : std::pow(normal, 3));
  }
  const auto array = data::make_npy(std::span<const float>(x), {samples, std::size_t{kWidth}});
  return data::dataset_from_npy("skewed", own_bytes(data::npy_bytes(array)), {}, {});
}

double output_sqnr_db(const ir::Graph& quantized, const ir::Graph& reference,
                      const data::Dataset& data) {
  EvaluateSettings options;
  options.execution.float_order = runtime::FloatOrder::kFixed;  // as in reports
  return evaluate(quantized, data, &reference, options).reference->sqnr_db;
}

struct Bits {
  const char* what;
  bool weights;
  bool activations;
};

class MoreBits : public testing::TestWithParam<Bits> {};

INSTANTIATE_TEST_SUITE_P(ManyBits, MoreBits,
                         testing::Values(Bits{"Both", true, true}, Bits{"Weights", true, false},
                                         Bits{"Activations", false, true}),
                         [](const auto& test) { return std::string(test.param.what); });

TEST_P(MoreBits, NeverLoseMoreOnOtherSamples) {
  constexpr double kNoiseDb = 0.5;
  const ir::Graph graph = perceptron(kWidth, 16, 4, 4);
  const data::Dataset samples = skewed_dataset(300, 3);
  const data::Dataset others = skewed_dataset(300, 4);
  double last = -100;
  for (int bits = 2; bits <= 8; ++bits) {
    const Recipe recipe =
        recipe_of(GetParam().weights ? bits : 8, GetParam().activations ? bits : 8);
    const QuantizedGraph result = quantize(graph, samples, recipe);
    const double found = output_sqnr_db(result.graph, graph, others);
    EXPECT_GT(found, last - kNoiseDb) << bits;
    last = found;
  }
  EXPECT_GT(last, 25);
}

TEST(ManyBits, AreMeasuredAsTheFileComputes) {
  const ir::Graph graph = perceptron(kWidth, 16, 4, 4);
  const data::Dataset samples = skewed_dataset(300, 3);
  for (const int bits : {3, 8}) {
    for (const int activation_bits : {bits, 0}) {
      for (const char* system : {"basis", "apot", "e4m3"}) {
        Recipe recipe = recipe_of(bits, activation_bits);
        recipe.defaults.weight_system = &numerics::find_system(system);
        if (!recipe.defaults.weight_system->allows(bits)) continue;
        const QuantizedGraph result = quantize(graph, samples, recipe);
        // The same noise in double precision, summed in another order.
        EXPECT_NEAR(result.layers.back().sqnr_db, output_sqnr_db(result.graph, graph, samples),
                    1e-9)
            << system << " " << bits << "/" << activation_bits;
      }
    }
  }
}

TEST(ManyBits, OfABasisAreEvenlySpaced) {
  const auto names = [](const Recipe& recipe) {
    const LayerRecipe layer = recipe.for_layer("a");
    return std::vector{layer.weights->system->name, layer.activations->system->name};
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(names(recipe_of(6, 6)), ElementsAre("basis", "basis"));
  EXPECT_THAT(names(recipe_of(7, 6)), ElementsAre("affine", "basis"));
  EXPECT_THAT(names(recipe_of(6, 8)), ElementsAre("basis", "affine"));
  Recipe recipe = recipe_of(8, 8);
  recipe.defaults.weight_offset = false;
  EXPECT_THAT(names(recipe), ElementsAre("symmetric", "affine"));
  recipe.defaults.arithmetic = ir::Arithmetic::kFloat;
  EXPECT_THAT(names(recipe), ElementsAre("basis", "basis")) << "float32 rounds no levels";
}

/// Three layers in a row and a second output behind the first one.
ir::Graph two_heads() {
  Random random(5);
  ir::Graph graph;
  const auto layer = [&](const char* name, ir::ValueId x) {
    return add_layer(graph, name, x, random_tensor({kWidth, kWidth}, random, 0.3F), random);
  };
  const auto x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, kWidth}));
  const auto first = layer("first", x);
  const auto middle = layer("middle", first);
  graph.add_output(layer("head1", middle));
  graph.add_output(layer("head2", middle));
  return graph;
}

std::vector<double> weight_bits(const QuantizedGraph& result) {
  std::vector<double> bits;
  for (const LayerReport& layer : result.layers) bits.push_back(layer.weight_bits);
  return bits;
}

TEST(Ends, AreTheFirstLayerAndEveryHead) {
  Recipe recipe = recipe_of(2, 2);
  recipe.ends.weight_bits = 8;
  const data::Dataset data = random_dataset(100, kWidth, 1);
  EXPECT_THAT(weight_bits(quantize(two_heads(), data, recipe)), ::testing::ElementsAre(8, 2, 8, 8));
  recipe.overrides.push_back({"head1", {}});
  recipe.overrides[0].settings.weight_bits = 4;
  EXPECT_THAT(weight_bits(quantize(two_heads(), data, recipe)), ::testing::ElementsAre(8, 2, 4, 8));
}

TEST(Ends, HaveABasisWhereTheOtherSystemLacksTheBits) {
  Recipe recipe;
  recipe.defaults.weight_system = recipe.defaults.activation_system = &numerics::find_system("nf4");
  recipe.ends.weight_bits = 5;
  recipe = with_ends(two_heads(), recipe);
  EXPECT_EQ(recipe.for_layer("first").weights->system->name, "basis");
  EXPECT_EQ(recipe.for_layer("first").activations->system->name, "nf4");
  EXPECT_EQ(recipe.for_layer("middle").weights->system->name, "nf4");
}

}  // namespace
}  // namespace halftone::compress
