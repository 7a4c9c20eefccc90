// SPDX-License-Identifier: Apache-2.0
// End to end with a text network: from a file with tied embeddings, as exporters write them,
// through the quantizer to files of every format.
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/compress/evaluate.h"
#include "halftone/compress/quantize.h"
#include "halftone/data/npy.h"
#include "halftone/data/open_dataset.h"
#include "halftone/formats/model.h"
#include "halftone/ir/test_data.h"
#include "halftone/passes/simplify.h"

namespace halftone {
namespace {

using TextNetwork = WithFolder;
using ir::Graph;
using ir::ValueId;
using ir::test::random_tensor;

constexpr ir::Dim kWords = 300;
constexpr ir::Dim kTokens = 8;
constexpr ir::Dim kWidth = 64;

/// tokens - embedding - attention with a projection of values for each of four heads - scores of
/// words by the transposed table.
Graph network() {
  Random random(1);
  Graph graph;
  const ValueId tokens =
      graph.add_input("tokens", ir::dense_type(ir::ElementType::kInt64, {ir::kBatch, kTokens}));
  const ValueId table = graph.add_constant("table", random_tensor({kWords, kWidth}, random));
  const ValueId x = graph.add_node("embedding", ir::Gather{0}, {table, tokens});
  const ValueId split = graph.add_node("split", ir::Reshape{{ir::kBatch, kTokens, 4, 16}}, {x});
  const ValueId heads = graph.add_node("heads", ir::Transpose{{0, 2, 1, 3}}, {split});
  const ValueId scores = graph.add_node("scores", ir::MatMul{false, true}, {heads, heads});
  const ValueId weights = graph.add_node("softmax", ir::Softmax{3, 0.25F}, {scores});
  const ValueId w = graph.add_constant("value.w", random_tensor({4, 16, 16}, random, 0.25F));
  const ValueId values = graph.add_node("value", ir::MatMul{}, {heads, w});
  const ValueId mixed = graph.add_node("mixed", ir::MatMul{}, {weights, values});
  const ValueId back = graph.add_node("back", ir::Transpose{{0, 2, 1, 3}}, {mixed});
  const ValueId joined =
      graph.add_node("joined", ir::Reshape{{ir::kBatch, kTokens, kWidth}}, {back});
  const ValueId sum = graph.add_node("sum", ir::Binary{}, {x, joined});
  const ValueId turned = graph.add_node("turned", ir::Transpose{{1, 0}}, {table});
  graph.add_output(graph.add_node("head", ir::MatMul{}, {sum, turned}));
  return graph;
}

data::Dataset texts(std::uint64_t seed) {
  constexpr std::size_t kSamples = 150;
  Random random(seed);
  std::vector<std::int64_t> tokens(kSamples * static_cast<std::size_t>(kTokens));
  for (auto& token : tokens) token = static_cast<std::int64_t>(random.below(kWords));
  const auto array = data::make_npy(std::span<const std::int64_t>(tokens),
                                    {kSamples, static_cast<std::size_t>(kTokens)});
  return data::dataset_from_npy("texts", own_bytes(data::npy_bytes(array)), {}, {});
}

TEST_F(TextNetwork, ShrinksAndStaysCloseInEveryFormat) {
  formats::save_model(network(), path("float.onnx"));
  Graph graph = formats::load_model(path("float.onnx"));
  passes::simplify(graph, {.widen = true});
  const compress::Recipe recipe = compress::parse_recipe(R"(
[default]
weight_bits = 5
activation_bits = 8
[[layer]]
name = "value"
weight_bits = 8
activation_bits = "none"
)",
                                                         "recipe");
  const compress::QuantizedGraph result = compress::quantize(graph, texts(2), recipe);
  ASSERT_EQ(result.layers.size(), 3U);
  EXPECT_EQ(result.layers[0].op, "Gather");
  EXPECT_EQ(result.layers[1].name, "value");
  EXPECT_EQ(result.layers[1].op, "Conv");
  EXPECT_EQ(result.layers[2].op, "FullyConnected");
  for (const char* name : {"text.onnx", "text.tflite", "text.circle"}) {
    formats::save_model(result.graph, path(name));
    // 5 bits in place of 32 for a table that is there once, or twice as exporters write float.
    EXPECT_LT(std::filesystem::file_size(path(name)), std::size_t{kWords * kWidth * 5 / 8 + 16000});
    Graph loaded = formats::load_model(path(name));
    passes::simplify(loaded);
    const auto found = compress::evaluate(loaded, texts(3), &graph, {});
    EXPECT_GT(found.reference->sqnr_db, 20) << name;
    EXPECT_GT(found.reference->agreement, 0.9) << name;
    // Look-up and product use the same table.
    const ir::Node& head = loaded.node(*loaded.producer(loaded.outputs()[0]));
    const auto readers = loaded.consumers(head.inputs[1]);
    EXPECT_EQ(readers.size(), 2U) << name;
  }
}

}  // namespace
}  // namespace halftone
