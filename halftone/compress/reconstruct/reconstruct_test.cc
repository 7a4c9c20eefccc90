// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/reconstruct.h"

#include <gtest/gtest.h>

#include "halftone/base/parallel.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/quantize.h"
#include "halftone/compress/reconstruct/block.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/distortion.h"

namespace halftone::compress {
namespace {

using ir::ActivationKind;
using ir::ValueId;

ValueId add_conv(ir::Graph& graph, const std::string& name, ValueId x, ir::Dim channels,
                 Random& random, ActivationKind activation = ActivationKind::kIdentity) {
  const ValueId w =
      graph.add_constant(name + ".w", random_tensor({channels, 3, channels}, random, 0.4F));
  const ValueId b = graph.add_constant(name + ".b", random_tensor({channels}, random, 0.1F));
  return graph.add_node(name, ir::Conv{{{1}, {1}, {1}, {1}}, 1, {activation}}, {x, w, b});
}

/// Two residual blocks over rows of eight pixels and four channels.
ir::Graph residual_network() {
  Random random(11);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 8, 4}));
  ValueId y = x;
  for (const char* block : {"one", "two"}) {
    const std::string name = block;
    const ValueId a = add_conv(graph, name + "/a", y, 4, random, ActivationKind::kRelu);
    const ValueId b = add_conv(graph, name + "/b", a, 4, random);
    y = graph.add_node(name + "/sum", ir::Binary{ir::BinaryKind::kAdd, {ActivationKind::kRelu}},
                       {b, y});
  }
  graph.add_output(y);
  return graph;
}

TEST(BlockEnds, AreWhereOneValueCarriesAllOn) {
  const ir::Graph graph = residual_network();
  std::vector<std::string> names;
  for (const ValueId id : block_ends(graph)) names.push_back(graph.value(id).name);
  EXPECT_EQ(names, (std::vector<std::string>{"one/sum", "two/sum"}));
  EXPECT_EQ(block_ends(perceptron(4, 3, 2, 1)).size(), 2U);
}

/// The names of the blocks' inputs and outputs, "from to".
std::vector<std::string> names_of(const ir::Graph& graph, const std::vector<BlockSpan>& blocks) {
  std::vector<std::string> names;
  for (const BlockSpan& block : blocks) {
    names.push_back(graph.value(block.from).name + " " + graph.value(block.to).name);
  }
  return names;
}

std::vector<std::string> block_names(const ir::Graph& graph) {
  return names_of(graph, layer_blocks(graph, quantizable_layers(graph)));
}

std::vector<std::string> layer_names(const ir::Graph& graph) {
  return names_of(graph, single_layer_blocks(graph, quantizable_layers(graph)));
}

/// y = LSTM over the rows of an image, in steps of a batch if `time_major`, then a layer on top.
ir::Graph lstm_network(bool time_major, std::uint64_t seed = 12) {
  constexpr ir::Dim kHidden = 6;
  Random random(seed);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, 8}));
  const ir::Transpose turn{{1, 0, 2}};
  const ValueId rows = time_major ? graph.add_node("turned", turn, {x}) : x;
  const ValueId gates =
      add_layer(graph, "gates", rows, random_tensor({4 * kHidden, 8}, random, 0.5F), random);
  ir::Recurrent lstm;
  lstm.batch_major = !time_major;
  const ValueId r = graph.add_constant("r", random_tensor({4 * kHidden, kHidden}, random, 0.5F));
  ValueId states = graph.add_node("lstm", lstm, {gates, r});
  if (time_major) states = graph.add_node("back", turn, {states});
  const ValueId flat = graph.add_node("flat", ir::Reshape{{ir::kBatch, 5 * kHidden}}, {states});
  const ValueId y =
      add_layer(graph, "top", flat, random_tensor({3, 5 * kHidden}, random, 0.3F), random);
  graph.add_output(graph.add_node("softmax", ir::Softmax{1}, {y}));
  return graph;
}

/// y = x + W attention(Q N(x), K N(x), V N(x)) over five positions of eight elements, N a
/// normalization.
ir::Graph attention_network(std::uint64_t seed = 13) {
  constexpr ir::Dim kWidth = 8;
  Random random(seed);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, kWidth}));
  const auto layer = [&](const std::string& name, ValueId input) {
    return add_layer(graph, name, input, random_tensor({kWidth, kWidth}, random, 0.5F), random);
  };
  const ValueId first = layer("first", x);
  const ValueId normal = graph.add_node("normal", ir::Normalize{{2}}, {first});
  // Two heads of four elements.
  const auto heads = [&](const std::string& name, std::vector<std::size_t> order) {
    const ValueId split =
        graph.add_node(name + "/heads", ir::Reshape{{ir::kBatch, 5, 2, 4}}, {layer(name, normal)});
    return graph.add_node(name + "/turned", ir::Transpose{std::move(order)}, {split});
  };
  const ValueId q = heads("q", {0, 2, 1, 3});
  const ValueId k = heads("k", {0, 2, 3, 1});
  const ValueId v = heads("v", {0, 2, 1, 3});
  const ValueId scale = graph.add_constant("scale", ir::test::floats({}, {0.5F}));
  const ValueId product = graph.add_node("product", ir::MatMul{}, {q, k});
  const ValueId scores =
      graph.add_node("scores", ir::Binary{ir::BinaryKind::kMul, {}}, {product, scale});
  const ValueId weights = graph.add_node("softmax", ir::Softmax{3}, {scores});
  const ValueId mixed = graph.add_node("mixed", ir::MatMul{}, {weights, v});
  const ValueId turned = graph.add_node("turned", ir::Transpose{{0, 2, 1, 3}}, {mixed});
  const ValueId joined = graph.add_node("joined", ir::Reshape{{ir::kBatch, 5, kWidth}}, {turned});
  graph.add_output(graph.add_node("sum", ir::Binary{}, {layer("out", joined), first}));
  return graph;
}

TEST(LayerBlocks, AreWhereTheLayersAre) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(block_names(residual_network()), (Names{"x one/sum", "one/sum two/sum"}));
  EXPECT_EQ(block_names(perceptron(4, 3, 2, 1)), (Names{"x first", "first second"}));
  EXPECT_EQ(block_names(lstm_network(false)), (Names{"x lstm", "flat top"}));
  EXPECT_EQ(block_names(lstm_network(true)), (Names{"x back", "flat top"}));
  EXPECT_EQ(block_names(attention_network()), (Names{"x first", "first sum"}));
}

/// y = relu(a x) + tanh(b x): the activation functions are nodes, and run after both layers.
ir::Graph parallel_network() {
  Random random(14);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 8, 4}));
  const ValueId a = add_conv(graph, "a", x, 4, random);
  const ValueId b = add_conv(graph, "b", x, 4, random);
  const ValueId u = graph.add_node("u", ir::Unary{{ActivationKind::kRelu}}, {a});
  const ValueId v = graph.add_node("v", ir::Unary{{ActivationKind::kTanh}}, {b});
  const ValueId sum = graph.add_node("sum", ir::Binary{}, {u, v});
  graph.add_output(add_conv(graph, "y", sum, 4, random));
  return graph;
}

TEST(SingleLayerBlocks, AreTheLayersWithTheirActivations) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(layer_names(parallel_network()), (Names{"x u", "x v", "sum y"}));
  EXPECT_EQ(layer_names(residual_network()),
            (Names{"x one/a", "one/a one/b", "one/sum two/a", "two/a two/b"}));
  EXPECT_EQ(layer_names(lstm_network(false)), (Names{"x gates", "gates lstm", "flat top"}));
  // Time comes first in the layers below.
  EXPECT_EQ(layer_names(lstm_network(true)), (Names{"flat top"}));
  // An activation function belongs to its layer only if nothing else reads the layer's output.
  ir::Graph graph = parallel_network();
  graph.add_output(graph.node(quantizable_layers(graph)[0]).output);
  EXPECT_EQ(layer_names(graph), (Names{"x a", "x v", "sum y"}));
}

TEST(ExtractBlock, ComputesWhatTheWholeNetworkDoes) {
  const ir::Graph graph = residual_network();
  const auto ends = block_ends(graph);
  const auto block = extract_block(graph, ends[0], ends[1], 3);
  ASSERT_TRUE(block);
  ir::Graph head = graph;
  head.set_outputs({ends[0]});
  head.remove_unused_nodes();
  Random random(3);
  const auto inputs = ir::test::list(random_tensor({3, 8, 4}, random));
  const auto between = ir::test::run_reference(head, inputs);
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(block->graph, between),
                                   ir::test::run_reference(graph, inputs)));
}

TEST(ExtractBlock, NeedsOneInput) {
  const ir::Graph graph = residual_network();
  const auto nodes = graph.topological_order();
  const ValueId inside = graph.node(nodes[0]).output;
  EXPECT_FALSE(extract_block(graph, inside, graph.outputs()[0], 1));
  EXPECT_FALSE(extract_block(graph, graph.outputs()[0], inside, 1));
}

Recipe recipe_with(int steps) {
  Recipe recipe;
  recipe.defaults.weight_bits = 2;
  recipe.defaults.activation_bits = 2;
  recipe.fit.reconstruct.steps = steps;
  return recipe;
}

/// AdaRound as published, but for the number of steps.
Recipe adaround(int steps) {
  Recipe recipe = recipe_with(steps);
  ReconstructOptions& options = recipe.fit.reconstruct;
  options.rounding = ReconstructRounding::kAdaptive;
  options.unit = ReconstructUnit::kLayer;
  options.level_rate = options.bias_rate = options.drop = 0;
  return recipe;
}

/// Of the whole network's output, on the samples of random_dataset(..., 5).
double output_sqnr_db(const ir::Graph& graph, const QuantizedGraph& result) {
  Random random(5);
  ir::Shape shape = graph.value(graph.inputs()[0]).type.shape;
  shape[0] = 256;
  ir::Tensor x(ir::ElementType::kFloat32, shape);
  const std::size_t elements = x.size() / 256;
  for (std::size_t i = 0; i < x.size(); ++i) {
    x.as<float>()[i] = i % elements % 5 == 4 ? 0 : static_cast<float>(random.normal());
  }
  const auto inputs = ir::test::list(std::move(x));
  numerics::Distortion distortion;
  distortion.add(ir::test::run_reference(graph, inputs)[0].as<float>(),
                 ir::test::run_reference(result.graph, inputs)[0].as<float>());
  return distortion.sqnr_db();
}

/// Gain of reconstruction on the calibration data, in dB.
double gain_db(const ir::Graph& graph, const data::Dataset& data, Recipe recipe) {
  recipe.fit.reconstruct.steps = 0;
  const double before = output_sqnr_db(graph, quantize(graph, data, recipe));
  recipe.fit.reconstruct.steps = 300;
  return output_sqnr_db(graph, quantize(graph, data, recipe)) - before;
}

TEST(Reconstruct, BringsTheNetworkNearerToTheFloatOne) {
  EXPECT_GT(gain_db(residual_network(), random_dataset(256, 32, 5), recipe_with(0)), 0.1);
}

/// Over six networks: what one block gains, later layers of a single small network may lose again.
template <typename MakeNetwork>
double mean_gain_db(const MakeNetwork& network, const Recipe& recipe) {
  constexpr std::uint64_t kNetworks = 6;
  double sum = 0;
  for (std::uint64_t seed = 20; seed < 20 + kNetworks; ++seed) {
    sum += gain_db(network(seed), random_dataset(256, 40, 5), recipe);
  }
  return sum / static_cast<double>(kNetworks);
}

TEST(Reconstruct, WorksOnRecurrentLayersAndAttention) {
  Recipe recipe = recipe_with(0);
  recipe.defaults.activation_bits = 4;
  EXPECT_GT(mean_gain_db([](std::uint64_t seed) { return lstm_network(false, seed); }, recipe),
            0.1);
  recipe.defaults.weight_bits = 1;
  EXPECT_GT(mean_gain_db(attention_network, recipe), 0.1);
}

bool same_outputs(const QuantizedGraph& a, const QuantizedGraph& b) {
  Random random(8);
  const auto inputs = ir::test::list(random_tensor({2, 8, 4}, random));
  return ir::test::same_bytes(ir::test::run_reference(a.graph, inputs),
                              ir::test::run_reference(b.graph, inputs));
}

TEST(Reconstruct, DoesNotDependOnThreads) {
  const ir::Graph graph = residual_network();
  const data::Dataset data = random_dataset(64, 32, 5);
  for (const Recipe& recipe : {recipe_with(20), adaround(20)}) {
    set_num_threads(1);
    const QuantizedGraph one = quantize(graph, data, recipe);
    set_num_threads(3);
    const QuantizedGraph three = quantize(graph, data, recipe);
    set_num_threads(0);
    EXPECT_TRUE(same_outputs(one, three));
  }
}

// With memory for cuts, later values must not be computed from values of layers that are
// refined afterwards.
TEST(Reconstruct, DoesNotDependOnMemoryWhereLayersAreParallel) {
  const ir::Graph graph = parallel_network();
  const data::Dataset data = random_dataset(64, 32, 5);
  Recipe recipe = adaround(100);
  recipe.fit.weights.feedback = recipe.fit.weights.refine = false;
  recipe.fit.reconstruct.level_rate = recipe.fit.reconstruct.bias_rate = 0.01;
  QuantizeSettings no_memory;
  no_memory.memory_bytes = 0;
  QuantizeSettings much_memory;
  much_memory.memory_bytes = 1 << 20;
  EXPECT_TRUE(same_outputs(quantize(graph, data, recipe, no_memory),
                           quantize(graph, data, recipe, much_memory)));
}

TEST(Reconstruct, RoundsAdaptivelyInBlocksAndInLayers) {
  const ir::Graph graph = residual_network();
  const data::Dataset data = random_dataset(256, 32, 5);
  Recipe recipe = adaround(0);
  recipe.fit.weights.feedback = recipe.fit.weights.refine = false;
  EXPECT_GT(gain_db(graph, data, recipe), 0.1);
  recipe.fit.reconstruct.unit = ReconstructUnit::kBlock;
  EXPECT_GT(gain_db(graph, data, recipe), 0.1);
}

TEST(Reconstruct, KeepsTheFitIfRoundingIsWorse) {
  const ir::Graph graph = residual_network();
  const data::Dataset data = random_dataset(64, 32, 5);
  Recipe recipe = adaround(2);
  const QuantizedGraph fitted = quantize(graph, data, recipe_with(0));
  // Two long steps are as good as random roundings.
  recipe.fit.reconstruct.weight_rate = 1;
  EXPECT_TRUE(same_outputs(quantize(graph, data, recipe), fitted));
  // Codes that may not move stay, too.
  recipe.fit.reconstruct.weight_rate = 0;
  EXPECT_TRUE(same_outputs(quantize(graph, data, recipe), fitted));
  EXPECT_FALSE(same_outputs(quantize(graph, data, adaround(100)), fitted));
}

TEST(Reconstruct, WorksOnEveryNumberSystem) {
  const ir::Graph graph = perceptron(10, 12, 5, 4);
  const data::Dataset data = random_dataset(256, 10, 5);
  for (const char* system : {"affine", "symmetric", "fixed"}) {
    Recipe recipe = recipe_with(100);
    recipe.defaults.weight_system = recipe.defaults.activation_system =
        &numerics::find_system(system);
    const double after = output_sqnr_db(graph, quantize(graph, data, recipe));
    recipe.fit.reconstruct.steps = 0;
    EXPECT_GE(after, output_sqnr_db(graph, quantize(graph, data, recipe)) - 0.5) << system;
  }
}

TEST(Reconstruct, LeavesWhatItCannotDescendOn) {
  ir::Graph graph = perceptron(10, 12, 5, 4);
  const ValueId rounded =
      graph.add_node("round", ir::Unary{{ActivationKind::kRound}}, {graph.outputs()[0]});
  graph.set_outputs({rounded});
  EXPECT_EQ(quantize(graph, random_dataset(64, 10, 6), recipe_with(5)).layers.size(), 2U);
}

}  // namespace
}  // namespace halftone::compress
