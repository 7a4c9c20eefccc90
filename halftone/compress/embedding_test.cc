// SPDX-License-Identifier: Apache-2.0
// Networks that read text: tokens, whose embeddings are looked up in a table.
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

using ir::Graph;
using ir::ValueId;

constexpr ir::Dim kTokens = 6;
constexpr ir::Dim kVocabulary = 50;
constexpr ir::Dim kEmbeddingWidth = 32;

/// Texts of the first `words` words.
data::Dataset texts(std::size_t samples, std::uint64_t seed,
                    std::size_t words = static_cast<std::size_t>(kVocabulary)) {
  Random random(seed);
  std::vector<std::int64_t> tokens(samples * static_cast<std::size_t>(kTokens));
  for (auto& token : tokens) token = static_cast<std::int64_t>(random.below(words));
  const auto array = data::make_npy(std::span<const std::int64_t>(tokens),
                                    {samples, static_cast<std::size_t>(kTokens)});
  return data::dataset_from_npy("texts", own_bytes(data::npy_bytes(array)), {}, {});
}

/// tokens - embedding - attention of one head beside the embedding - mean over the text or, with
/// tied embeddings, scores of words for every position.
struct TextNetwork {
  Graph graph;
  Random random{3};
  ValueId table;

  explicit TextNetwork(bool tied) {
    const ValueId tokens =
        graph.add_input("tokens", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch, kTokens}));
    table = graph.add_constant("table", random_tensor({kVocabulary, kEmbeddingWidth}, random));
    const ValueId x = graph.add_node("embedding", ir::Gather{0}, {table, tokens});
    const ValueId q = project("query", x);
    const ValueId k = project("key", x);
    const ValueId v = project("value", x);
    const ValueId scores = graph.add_node("scores", ir::MatMul{false, true}, {q, k});
    const ValueId weights = graph.add_node("softmax", ir::Softmax{2}, {scores});
    const ValueId mixed = graph.add_node("mixed", ir::MatMul{}, {weights, v});
    const ValueId sum = graph.add_node("sum", ir::Binary{}, {x, project("output", mixed)});
    if (tied) {
      graph.add_output(graph.add_node("head", ir::FullyConnected{}, {sum, table}));
    } else {
      const ValueId mean =
          graph.add_node("mean", ir::Reduce{ir::ReduceKind::kMean, {1}, false}, {sum});
      graph.add_output(add_layer(graph, "head", mean,
                                 random_tensor({5, kEmbeddingWidth}, random, 0.2F), random));
    }
  }

  ValueId project(const std::string& name, ValueId x) {
    return add_layer(graph, name, x,
                     random_tensor({kEmbeddingWidth, kEmbeddingWidth}, random, 0.2F), random);
  }
};

/// The seed of the calibration texts.
constexpr std::uint64_t kCalibration = 5;

QuantizedGraph quantize_text(const Graph& graph, const std::string& recipe) {
  return quantize(graph, texts(200, kCalibration), parse_recipe(recipe, "recipe"));
}

double output_sqnr_db(const Graph& quantized, const Graph& reference, std::uint64_t seed = 6) {
  return evaluate(quantized, texts(200, seed), &reference, {}).reference->sqnr_db;
}

const ir::Node& layer_named(const Graph& graph, const std::string& name) {
  for (const ir::NodeId id : graph.topological_order()) {
    if (graph.node(id).name == name) return graph.node(id);
  }
  fail(ErrorKind::kInternal, "no node " + name);
}

TEST(Embedding, TableIsALayerOfItsOwnBits) {
  const TextNetwork network(/*tied=*/false);
  const QuantizedGraph result = quantize_text(network.graph, R"(
[default]
weight_bits = 8
activation_bits = 8
[[layer]]
name = "embedding"
weight_bits = 4
)");
  ASSERT_EQ(result.layers.size(), 6U);
  const LayerReport& table = result.layers[0];
  EXPECT_EQ(table.name, "embedding");
  EXPECT_EQ(table.op, "Gather");
  EXPECT_EQ(table.weight_bits, 4);
  EXPECT_EQ(table.activation_bits, 32);
  EXPECT_EQ(table.float_bytes, 50U * 32 * 4);
  EXPECT_LT(table.encoded_bytes, table.float_bytes / 3);
  // All words are equally frequent, so the lookups have the error of the table.
  EXPECT_NEAR(table.sqnr_db, table.weight_sqnr_db, 1);
  const ir::Node& counterpart = layer_named(result.graph, "embedding");
  EXPECT_EQ(result.graph.value(counterpart.inputs[0]).type.encoding.codes->bits, 4);
  EXPECT_TRUE(result.graph.value(counterpart.output).type.is_dense(ir::ElementType::kFloat32));
}

TEST(Embedding, TextNetworkComesCloserWithEveryBit) {
  const TextNetwork network(/*tied=*/false);
  double last = 0;
  for (const int bits : {2, 3, 4, 5, 6}) {
    Recipe recipe;
    recipe.defaults.weight_bits = bits;
    recipe.defaults.activation_bits = 0;
    const QuantizedGraph result = quantize(network.graph, texts(200, kCalibration), recipe);
    const double db = output_sqnr_db(result.graph, network.graph);
    // A bit is worth about six decibels where all the error comes from the weights.
    EXPECT_GT(db, last + 4) << bits;
    last = db;
  }
}

TEST(Embedding, RecipeLeavesTheTableFloat) {
  const TextNetwork network(/*tied=*/false);
  for (const char* float_table : {"skip = true", "weight_bits = \"none\""}) {
    const QuantizedGraph result =
        quantize_text(network.graph, std::string("[[layer]]\nname = \"embed*\"\n") + float_table);
    EXPECT_EQ(result.layers[0].weight_bits, 32);
    EXPECT_EQ(result.layers[0].sqnr_db, std::numeric_limits<double>::infinity());
    EXPECT_EQ(layer_named(result.graph, "embedding").inputs[0], network.table);
  }
}

TEST(Embedding, WordsThatNeverOccurAreFittedToo) {
  const TextNetwork network(/*tied=*/false);
  for (const char* granularity : {"tensor", "channel", "group"}) {
    const Recipe recipe = parse_recipe(
        "[default]\nweight_bits = 4\ngranularity = \"" + std::string(granularity) + "\"", "test");
    const Graph half = quantize(network.graph, texts(100, 7, 25), recipe).graph;
    const ir::Tensor levels = to_float(*half.constant(layer_named(half, "embedding").inputs[0]));
    const ir::Tensor table = to_float(*network.graph.constant(network.table));
    numerics::Distortion used;
    numerics::Distortion unused;
    constexpr std::size_t kHalf = 25 * 32;
    used.add(table.as<float>().first(kHalf), levels.as<float>().first(kHalf));
    unused.add(table.as<float>().subspan(kHalf), levels.as<float>().subspan(kHalf));
    EXPECT_NEAR(used.sqnr_db(), unused.sqnr_db(), 1.5) << granularity;
  }
}

TEST(Embedding, TiedToTheLastLayerStaysOneTable) {
  const TextNetwork network(/*tied=*/true);
  const std::string recipe = "[default]\nweight_bits = 4\nactivation_bits = 8\n";
  const QuantizedGraph tied = quantize_text(network.graph, recipe);
  EXPECT_EQ(layer_named(tied.graph, "embedding").inputs[0],
            layer_named(tied.graph, "head").inputs[1]);
  EXPECT_EQ(tied.layers.back().weight_bits, 4);
  EXPECT_EQ(tied.layers.back().activation_bits, 8);
  EXPECT_EQ(tied.layers.front().weight_sqnr_db, tied.layers.back().weight_sqnr_db);

  // With different bits each layer has its own codes.
  const QuantizedGraph apart =
      quantize_text(network.graph, recipe + "[[layer]]\nname = \"head\"\nweight_bits = 8\n");
  EXPECT_EQ(apart.layers.front().weight_bits, 4);
  EXPECT_EQ(apart.layers.back().weight_bits, 8);
  EXPECT_GT(output_sqnr_db(apart.graph, network.graph), output_sqnr_db(tied.graph, network.graph));
  const QuantizedGraph float_head =
      quantize_text(network.graph, recipe + "[[layer]]\nname = \"head\"\nskip = true\n");
  EXPECT_EQ(layer_named(float_head.graph, "head").inputs[1], network.table);
  EXPECT_EQ(float_head.layers.front().weight_bits, 4);
}

TEST(Embedding, BlocksBehindTheTableAreRefined) {
  for (const bool tied : {false, true}) {
    const TextNetwork network(tied);
    const std::string recipe =
        "[default]\nweight_bits = 2\nactivation_bits = 4\n[[layer]]\nname = \"embedding\"\n"
        "weight_bits = 6\n[[layer]]\nname = \"head\"\nweight_bits = 6\n[fit]\n";
    const QuantizedGraph plain = quantize_text(network.graph, recipe);
    const QuantizedGraph refined =
        quantize_text(network.graph, recipe + "reconstruct_steps = 50\nreconstruct_batch = 8\n");
    EXPECT_GT(output_sqnr_db(refined.graph, network.graph, kCalibration),
              output_sqnr_db(plain.graph, network.graph, kCalibration) + 0.2)
        << tied;
    // The table does not change after the layers behind it were fitted.
    EXPECT_EQ(refined.layers[0].weight_sqnr_db, plain.layers[0].weight_sqnr_db);
  }
}

TEST(Embedding, WordsBeyondTheTableAreRefused) {
  TextNetwork network(/*tied=*/false);
  expect_error(ErrorKind::kShape, "index 50 is out of range for an extent of 50",
               [&] { quantize(network.graph, texts(50, 8, 51), parse_recipe("", "test")); });
}

TEST(Embedding, OnlyMatricesLookedUpByRowsAreTables) {
  Random random(9);
  Graph graph;
  const ValueId i = graph.add_input("i", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch}));
  const auto look_up = [&](const std::string& name, const ir::Shape& shape, std::size_t axis) {
    const ValueId table = graph.add_constant(name + ".t", random_tensor(shape, random));
    graph.add_output(graph.add_node(name, ir::Gather{axis}, {table, i}));
  };
  look_up("rows", {5, 4}, 0);
  look_up("numbers", {5}, 0);
  look_up("columns", {4, 5}, 1);
  look_up("slices", {5, 2, 2}, 0);
  const std::vector<ir::NodeId> layers = quantizable_layers(graph);
  ASSERT_EQ(layers.size(), 1U);
  EXPECT_EQ(graph.node(layers[0]).name, "rows");
}

}  // namespace
}  // namespace halftone::compress
