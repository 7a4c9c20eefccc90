// SPDX-License-Identifier: Apache-2.0
// Layers in loops.
#include "halftone/compress/loop_bodies.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "halftone/compress/layers.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"

namespace halftone::compress {
namespace {

using ir::test::float_type;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr ir::Dim kSteps = 5;
constexpr ir::Dim kInputs = 8;
constexpr ir::Dim kStates = 6;

/// h' = tanh(W [x[t], h] + b).
std::shared_ptr<const ir::Graph> elman_cell() {
  Random random(11);
  auto body = std::make_shared<ir::Graph>();
  body->add_input("t", ir::dense_type(ir::ElementType::kInt64, ir::Shape{}));
  const auto h = body->add_input("h", float_type({ir::kBatch, kStates}));
  const auto x = body->add_input("x", float_type({ir::kBatch, kInputs}));
  const auto joined = body->add_node("loop/join", ir::Concat{1}, {x, h});
  body->add_output(add_layer(*body, "loop/cell", joined,
                             random_tensor({kStates, kInputs + kStates}, random, 0.4F), random,
                             ir::ActivationKind::kTanh));
  return body;
}

/// A layer behind the last state of a loop over [N, 5, 8].
ir::Graph recurrent_network() {
  Random random(12);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, kSteps, kInputs}));
  ir::Tensor yes(ir::ElementType::kBool, ir::Shape{});
  yes.bytes()[0] = std::byte{1};
  const auto go = graph.add_constant("go", std::move(yes));
  const auto zeros =
      graph.add_constant("zeros", ir::Tensor(ir::ElementType::kFloat32, {1, kStates}));
  const auto first = graph.add_node("first", ir::BroadcastTo{{ir::kBatch, kStates}}, {zeros});
  const ir::Loop loop{.body = elman_cell(), .trips = kSteps, .reads = {{1}}, .keeps = {true}};
  const auto record = graph.add_node("loop", loop, {go, ir::kAbsent, first, x});
  const auto last = graph.add_node("last", ir::results_of(loop)[0], {record});
  graph.add_output(
      add_layer(graph, "out", last, random_tensor({4, kStates}, random, 0.5F), random));
  return graph;
}

data::Dataset sequences() { return random_dataset(64, kSteps * kInputs, 5); }

const ir::Graph& body_of(const ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* loop = std::get_if<ir::Loop>(&graph.node(id).op);
    if (loop != nullptr) return *loop->body;
  }
  throw std::runtime_error("no loop");
}

/// Signal-to-noise ratio of the outputs of a quantized network in decibels.
double quality(const ir::Graph& reference, const ir::Graph& quantized) {
  Random random(77);
  const auto x = ir::test::list(random_tensor({32, kSteps, kInputs}, random));
  const auto expected = ir::test::numbers(ir::test::run_reference(reference, x)[0]);
  const auto found = ir::test::numbers(ir::test::run_reference(quantized, x)[0]);
  double signal = 0;
  double noise = 0;
  for (std::size_t i = 0; i < found.size(); ++i) {
    signal += std::pow(expected[i], 2);
    noise += std::pow(expected[i] - found[i], 2);
  }
  return 10 * std::log10(signal / noise);
}

TEST(LoopBodies, AreQuantizedLikeOtherLayers) {
  const ir::Graph graph = recurrent_network();
  const QuantizedGraph result = quantize(graph, sequences(), recipe_of(4, 8));
  ASSERT_EQ(result.layers.size(), 2U);
  EXPECT_EQ(result.layers[0].name, "out");
  EXPECT_EQ(result.layers[1].name, "loop/cell");
  EXPECT_EQ(result.layers[1].weight_bits, 4);
  EXPECT_EQ(result.layers[1].activation_bits, 8);
  // The body has the batch again, and codes in place of floats.
  const ir::Graph& body = body_of(result.graph);
  EXPECT_EQ(body.value(body.inputs()[1]).type, float_type({ir::kBatch, kStates}));
  EXPECT_THAT(quantizable_layers(body), testing::IsEmpty());
  // 4-bit weights of a few levels: each of the two layers has more than 15 dB, as both reports say.
  EXPECT_GT(result.layers[1].sqnr_db, 15);
  EXPECT_GT(quality(graph, result.graph), 12);
  EXPECT_GT(quality(graph, quantize(graph, sequences(), recipe_of(8, 8)).graph), 30);
  EXPECT_LT(result.layers[1].encoded_bytes, result.layers[1].float_bytes / 2);
}

TEST(LoopBodies, FollowOverridesOfTheirLayers) {
  Recipe recipe = recipe_of(4, 8);
  recipe.overrides.push_back({"loop/*", {}});
  recipe.overrides.back().settings.weight_bits = 2;
  recipe.overrides.push_back({"out", {}});
  recipe.overrides.back().settings.weight_bits = 6;
  const QuantizedGraph result = quantize(recurrent_network(), sequences(), recipe);
  EXPECT_EQ(result.layers[0].weight_bits, 6);
  EXPECT_EQ(result.layers[1].weight_bits, 2);
  recipe.overrides.back().pattern = "other";
  ir::test::expect_error(ErrorKind::kUsage, "the layers are: out, loop/cell",
                         [&] { quantize(recurrent_network(), sequences(), recipe); });
}

TEST(LoopBodies, AreTheSameInEveryFit) {
  const auto first = quantize(recurrent_network(), sequences(), recipe_of(2, 2));
  const auto second = quantize(recurrent_network(), sequences(), recipe_of(2, 2));
  Random random(3);
  const auto x = ir::test::list(random_tensor({2, kSteps, kInputs}, random));
  EXPECT_TRUE(ir::test::same_bytes(ir::test::run_reference(first.graph, x),
                                   ir::test::run_reference(second.graph, x)));
}

TEST(LoopBodies, ThatNoSampleReachesStayFloat) {
  ir::Graph graph = recurrent_network();
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    const auto* loop = std::get_if<ir::Loop>(&node.op);
    if (loop == nullptr) continue;
    std::vector<ir::ValueId> inputs = node.inputs;
    inputs[0] = graph.add_constant("never", ir::Tensor(ir::ElementType::kBool, ir::Shape{}));
    graph.replace_node(id, *loop, inputs);
  }
  const LoopBodies bodies = quantize_bodies(graph, sequences(), recipe_of(4, 8), {});
  EXPECT_TRUE(bodies.graphs.empty());
  EXPECT_THAT(bodies.rows.warnings, ElementsAre(HasSubstr("no sample reaches an iteration")));
}

}  // namespace
}  // namespace halftone::compress
