// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/reconstruct.h"

#include <gtest/gtest.h>

#include "halftone/base/parallel.h"
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
  const auto between = ir::test::run_by_definition(head, inputs);
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_by_definition(block->graph, between),
                                   ir::test::run_by_definition(graph, inputs)));
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

/// Of the whole network's output, on the samples of random_dataset(..., 5).
double output_sqnr_db(const ir::Graph& graph, const QuantizeResult& result) {
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
  distortion.add(ir::test::run_by_definition(graph, inputs)[0].as<float>(),
                 ir::test::run_by_definition(result.graph, inputs)[0].as<float>());
  return distortion.sqnr_db();
}

TEST(Reconstruct, BringsTheNetworkNearerToTheFloatOne) {
  const ir::Graph graph = residual_network();
  const formats::Dataset data = random_dataset(1024, 32, 5);
  Recipe recipe = recipe_with(0);
  const double before = output_sqnr_db(graph, quantize(graph, data, recipe));
  recipe.fit.reconstruct.steps = 300;
  EXPECT_GT(output_sqnr_db(graph, quantize(graph, data, recipe)), before + 0.1);
}

TEST(Reconstruct, DoesNotDependOnThreads) {
  const ir::Graph graph = residual_network();
  const formats::Dataset data = random_dataset(64, 32, 5);
  set_num_threads(1);
  const QuantizeResult one = quantize(graph, data, recipe_with(20));
  set_num_threads(3);
  const QuantizeResult three = quantize(graph, data, recipe_with(20));
  set_num_threads(0);
  Random random(8);
  const auto inputs = ir::test::list(random_tensor({2, 8, 4}, random));
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_by_definition(one.graph, inputs),
                                   ir::test::run_by_definition(three.graph, inputs)));
}

TEST(Reconstruct, WorksOnEveryScheme) {
  const ir::Graph graph = perceptron(10, 12, 5, 4);
  const formats::Dataset data = random_dataset(256, 10, 5);
  for (const Scheme scheme : {Scheme::kAffine, Scheme::kSymmetric, Scheme::kFixed}) {
    Recipe recipe = recipe_with(100);
    recipe.defaults.scheme = scheme;
    const double after = output_sqnr_db(graph, quantize(graph, data, recipe));
    recipe.fit.reconstruct.steps = 0;
    EXPECT_GE(after, output_sqnr_db(graph, quantize(graph, data, recipe)) - 0.5)
        << to_string(scheme);
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
