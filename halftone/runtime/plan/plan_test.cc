// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/base/testing.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ::testing::HasSubstr;
using ::testing::StartsWith;

/// Adds a random node that reads `pool`, whose values are all float32 [N, 8].
ir::ValueId add_random_node(ir::Graph& graph, const std::vector<ir::ValueId>& pool,
                            const std::string& name, Random& random) {
  const auto any = [&] { return pool[random.below(pool.size())]; };
  switch (random.below(7)) {
    case 0:
      return graph.add_node(name, ir::Unary{{ir::ActivationKind::kTanh}}, {any()});
    case 1:
      return graph.add_node(name, ir::Binary{ir::BinaryKind::kAdd, {}}, {any(), any()});
    case 2:
      return graph.add_node(name, ir::Softmax{1}, {any()});
    case 3: {
      const auto wide = graph.add_node(name + ".wide", ir::Reshape{{ir::kBatch, 2, 4}}, {any()});
      const auto turned = graph.add_node(name + ".turn", ir::Transpose{{0, 2, 1}}, {wide});
      return graph.add_node(name, ir::Reshape{{ir::kBatch, 8}}, {turned});
    }
    case 4: {
      const auto joined = graph.add_node(name + ".join", ir::Concat{1}, {any(), any()});
      return graph.add_node(name, ir::Slice{1, random.below(8), 1, 8}, {joined});
    }
    case 5: {
      const auto w = graph.add_constant(name + ".w", testing::random_tensor({8, 8}, random));
      return graph.add_node(name, ir::FullyConnected{{ir::ActivationKind::kTanh}}, {any(), w});
    }
    default: {
      const auto w = graph.add_constant(name + ".w", testing::random_weights(8, 8, {2}, random));
      // The levels are far from every value that occurs, so a difference in the last bit changes no
      // code.
      const float a[] = {40};
      const auto codes =
          graph.add_node(name + ".encode",
                         ir::Encode{std::make_shared<numerics::MatrixEncoding>(
                             numerics::tensor_encoding(numerics::make_basis(a, 60)))},
                         {any()});
      return graph.add_node(name, ir::FullyConnected{{ir::ActivationKind::kTanh}}, {codes, w});
    }
  }
}

ir::Graph random_graph(std::uint64_t seed) {
  Random random(seed);
  ir::Graph graph;
  std::vector<ir::ValueId> pool{graph.add_input("x", float_type({ir::kBatch, 8}))};
  if (random.below(2) == 0) pool.push_back(graph.add_input("y", float_type({ir::kBatch, 8})));
  const std::size_t count = 1 + random.below(14);
  for (std::size_t i = 0; i < count; ++i) {
    pool.push_back(add_random_node(graph, pool, "node" + std::to_string(i), random));
  }
  graph.add_output(pool.back());
  if (random.below(2) == 0) graph.add_output(pool[random.below(pool.size())]);
  return graph;
}

/// The last step that reads each value; Plan::steps().size() for inputs and outputs.
std::map<ir::ValueId, std::size_t> last_uses(const Plan& plan) {
  std::map<ir::ValueId, std::size_t> last;
  for (std::size_t s = 0; s < plan.steps().size(); ++s) {
    for (const ir::ValueId id : plan.graph().node(plan.steps()[s].node).inputs) last[id] = s;
  }
  for (const ir::ValueId id : plan.graph().inputs()) last[id] = plan.steps().size();
  for (const ir::ValueId id : plan.graph().outputs()) last[id] = plan.steps().size();
  return last;
}

/// A convolution of 8 x 8 pixels with codes of 4 bits.
ir::Graph coded_convolution(std::size_t channels, std::size_t outputs, std::size_t groups) {
  Random random(9);
  ir::Graph graph;
  const auto dim = [](std::size_t extent) { return static_cast<ir::Dim>(extent); };
  const auto x = graph.add_input("x", float_type({ir::kBatch, 8, 8, dim(channels)}));
  const auto codes =
      graph.add_node("codes", ir::Encode{testing::activation_encoding(4, false, random)}, {x});
  ir::EncodedTensor weights = testing::random_weights(outputs, 9 * channels / groups, {4}, random);
  weights.shape = {dim(outputs), 3, 3, dim(channels / groups)};
  const auto w = graph.add_constant("w", std::move(weights));
  const ir::Conv op{ir::plain_window(2), dim(groups), {}};
  graph.add_output(graph.add_node("conv", op, {codes, w}));
  return graph;
}

TEST(Plan, TellsTheArithmeticAndWhatIsSlowerThanFloat) {
  const auto wide = make_plan(coded_convolution(64, 64, 1));
  EXPECT_EQ(wide->steps().back().arithmetic, KernelArithmetic::kIntegers);
  EXPECT_EQ(wide->steps().back().slow, "");
  EXPECT_EQ(wide->steps().front().arithmetic, KernelArithmetic::kOperator);
  // A lane holds a channel, and most of the time goes into packing the pixels.
  const auto depthwise = make_plan(coded_convolution(64, 64, 64));
  EXPECT_THAT(depthwise->steps().back().slow, HasSubstr("on this processor it takes about "));
  // So does decoding, before a convolution of few outputs.
  const auto decoded =
      make_plan(coded_convolution(2, 64, 1), {.execution = {.int8_activations = false}});
  EXPECT_EQ(decoded->steps().back().kernel, "fixed_order_f32");
  EXPECT_THAT(decoded->steps().back().slow, HasSubstr("on this processor it takes about "));
}

TEST(Plan, RandomGraphsMatchReference) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    testing::expect_reference_result(random_graph(seed), {.batch = 1 + seed % 5}, 2e-5F, seed);
  }
}

TEST(Plan, ArenaNeverOverlapsLiveValues) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE(seed);
    const auto plan = make_plan(random_graph(seed), {.batch = 3});
    const auto last = last_uses(*plan);
    std::vector<ir::ValueId> live(plan->graph().inputs().begin(), plan->graph().inputs().end());
    for (std::size_t s = 0; s < plan->steps().size(); ++s) {
      const PlanStep& step = plan->steps()[s];
      const ir::Node& node = plan->graph().node(step.node);
      const Storage& output = plan->storage(node.output);
      EXPECT_LE(output.offset + output.bytes, plan->arena_bytes());
      EXPECT_LE(step.scratch_offset + step.body.scratch_bytes, plan->arena_bytes());
      const bool alias = step.kernel == "alias";
      for (const ir::ValueId id : live) {
        if (alias || last.at(id) < s) continue;
        const Storage& other = plan->storage(id);
        EXPECT_TRUE(other.offset + other.bytes <= output.offset ||
                    output.offset + output.bytes <= other.offset)
            << step.name << " overwrites " << plan->graph().value(id).name;
        EXPECT_TRUE(step.body.scratch_bytes == 0 ||
                    other.offset + other.bytes <= step.scratch_offset ||
                    step.scratch_offset + step.body.scratch_bytes <= other.offset);
      }
      if (last.contains(node.output)) live.push_back(node.output);
    }
  }
}

TEST(Plan, ExplainsItsChoices) {
  const auto plan = make_plan(testing::make_perceptron({.bits = 2}));
  ASSERT_EQ(plan->steps().size(), 5U);
  EXPECT_EQ(plan->steps()[0].name, "dense1.encode");
  EXPECT_EQ(plan->steps()[0].op, "Encode");
  EXPECT_EQ(plan->steps()[0].kernel, "bit_planes");
  EXPECT_EQ(plan->steps()[1].kernel, "xnor_popcount");
  EXPECT_THAT(plan->steps()[1].reason, StartsWith("2-bit input, 2-bit weights: about "));
  EXPECT_TRUE(plan->steps()[1].refused.empty());
  EXPECT_EQ(plan->steps()[4].kernel, "vector_f32");

  const auto integers = make_plan(testing::make_perceptron({.bits = 3}));
  EXPECT_EQ(integers->steps()[1].kernel, "int8_levels");
  ASSERT_EQ(integers->steps()[1].refused.size(), 1U);
  EXPECT_EQ(integers->steps()[1].refused[0].kernel, "xnor_popcount");
  EXPECT_EQ(integers->steps()[1].refused[0].reason, "9 pairs of bit planes");

  const auto dense = make_plan(testing::make_perceptron({}));
  const PlanStep& step = dense->steps()[0];
  EXPECT_EQ(step.kernel, testing::float_kernel());
  EXPECT_EQ(step.reason, step.kernel == "onednn_f32" ? "dense input, constant weights"
                                                     : "sums in the order of the inputs");
  ASSERT_EQ(step.refused.size(), 3U);
  EXPECT_EQ(step.refused[0].kernel, "xnor_popcount");
  EXPECT_EQ(step.refused[0].reason, "the input is not encoded");
  EXPECT_EQ(step.refused[1].reason, "the weights are not encoded");
  EXPECT_EQ(step.refused[2].reason, "the weights are not stored in blocks");
}

TEST(Plan, ExplainsWhyPopcountRejectsALayer) {
  Random random(1);
  const auto refusal = [&](int x_bits, const testing::WeightFormat& format) {
    ir::Graph graph;
    const auto x = graph.add_input("x", float_type({1, 40}));
    const auto encoded = graph.add_node(
        "encode", ir::Encode{testing::activation_encoding(x_bits, true, random)}, {x});
    const auto w = graph.add_constant("w", testing::random_weights(3, 40, format, random));
    graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {encoded, w}));
    return make_plan(graph)->steps().back().refused.at(0).reason;
  };
  EXPECT_EQ(refusal(3, {4}), "12 pairs of bit planes");
  EXPECT_EQ(refusal(2, {2, true, numerics::Granularity::kGroup, 8}),
            "weights have a scale per group of 8 inputs");
}

TEST(Plan, LeavesAnActivationToTheEncodingThatFollows) {
  const auto plan = make_plan(testing::make_perceptron({.bits = 2}));
  const ir::Graph& graph = plan->graph();
  const auto& hidden = std::get<ir::FullyConnected>(graph.node(plan->steps()[1].node).op);
  EXPECT_EQ(hidden.activation.kind, ir::ActivationKind::kIdentity);
  const auto& encode = std::get<ir::Encode>(graph.node(plan->steps()[2].node).op);
  EXPECT_EQ(encode.activation.kind, ir::ActivationKind::kTanh);

  // Not if another node reads it.
  ir::Graph watched = testing::make_perceptron({.bits = 2});
  const ir::NodeId layer = watched.topological_order()[1];
  watched.add_output(watched.node(layer).output);
  const auto whole = make_plan(watched);
  EXPECT_EQ(std::get<ir::FullyConnected>(whole->graph().node(layer).op).activation.kind,
            ir::ActivationKind::kTanh);
  Random random(3);
  const std::vector<ir::Tensor> inputs = testing::random_inputs(plan->graph(), random);
  std::vector<ir::Tensor> results = Session(whole).run(inputs);
  results.pop_back();
  EXPECT_TRUE(testing::same_bytes(Session(plan).run(inputs), results));
}

TEST(Plan, StoresCodesAsIntegersIfAllReadersMultiplyIntegers) {
  const auto layout = [](const Plan& plan, std::size_t step) {
    return plan.storage(plan.graph().node(plan.steps()[step].node).output).layout;
  };
  const auto two = make_plan(testing::make_perceptron({.bits = 2}));
  EXPECT_EQ(layout(*two, 0), CodeLayout::kPlanes);
  ir::Graph graph = testing::make_perceptron({.bits = 3});
  const auto three = make_plan(graph);
  EXPECT_EQ(three->steps()[0].kernel, "int8");
  EXPECT_EQ(layout(*three, 0), CodeLayout::kInt8);
  EXPECT_EQ(three->steps()[0].refused.at(0).reason, "its readers multiply integers");
  EXPECT_EQ(layout(*make_plan(graph, {.execution = {.int8_activations = false}}), 0),
            CodeLayout::kPlanes);
  // A graph output has its declared type and contains levels, not approximations of them.
  graph.add_output(graph.node(graph.topological_order()[0]).output);
  const auto watched = make_plan(graph);
  EXPECT_EQ(watched->storage(watched->graph().outputs().back()).layout, CodeLayout::kPlanes);
  // The layer computes as before, from codes of its own.
  EXPECT_EQ(watched->steps()[1].name, watched->steps()[0].name);
  EXPECT_EQ(watched->steps()[2].kernel, "int8_levels");
}

TEST(Plan, EncodesOnceForSeveralLayers) {
  Random random(1);
  const auto encoding = testing::activation_encoding(2, true, random);
  const auto same = std::make_shared<const numerics::MatrixEncoding>(*encoding);
  const auto other = testing::activation_encoding(2, true, random);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 20}));
  int layers = 0;
  for (const auto& each : {encoding, same, other}) {
    const std::string name = "dense" + std::to_string(layers++);
    const auto codes = graph.add_node(name + ".encode", ir::Encode{each}, {x});
    const auto w = graph.add_constant(name + ".w", testing::random_weights(5, 20, {2}, random));
    graph.add_output(graph.add_node(name, ir::FullyConnected{}, {codes, w}));
  }
  const auto plan = testing::expect_reference_result(graph, {.batch = 2}, 2e-5F);
  EXPECT_EQ(std::ranges::count(plan->steps(), "Encode", &PlanStep::op), 2);
}

TEST(Plan, OmitsUnusedNodes) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 4}));
  graph.add_node("unused", ir::Unary{{ir::ActivationKind::kExp}}, {x});
  graph.add_output(graph.add_node("used", ir::Unary{{ir::ActivationKind::kTanh}}, {x}));
  const auto plan = make_plan(graph);
  ASSERT_EQ(plan->steps().size(), 1U);
  EXPECT_EQ(plan->steps()[0].name, "used");
}

TEST(Plan, ReportsItsMemory) {
  const auto dense = make_plan(testing::make_perceptron({}));
  constexpr std::size_t kFloats = 784 * 700 + 700 + 700 * 10 + 10;
  EXPECT_GE(dense->packed_weight_bytes(), kFloats * 4);
  EXPECT_LE(dense->packed_weight_bytes(), kFloats * 5);
  const auto bits = make_plan(testing::make_perceptron({.bits = 2}));
  EXPECT_GE(bits->packed_weight_bytes(), kFloats / 4);
  EXPECT_LE(bits->packed_weight_bytes(), kFloats / 4 * 6 / 5);
  // Packed constants are not stored twice.
  EXPECT_EQ(dense->constant_bytes(), 0U);
  EXPECT_EQ(bits->constant_bytes(), 0U);
  ir::Graph graph;
  const auto one = graph.add_input("x", float_type({1, 3}));
  const auto c = graph.add_constant("c", ir::Tensor(ir::ElementType::kFloat32, {1, 3}));
  graph.add_output(graph.add_node("sum", ir::Binary{}, {one, c}));
  EXPECT_EQ(make_plan(graph)->constant_bytes(), 3 * sizeof(float));
  // At least input, encoded input and hidden layer, but much less than the sum of all values.
  EXPECT_GE(bits->arena_bytes(), (784U + 700U) * 4U);
  EXPECT_LE(bits->arena_bytes(), 8192U);
  const auto many = make_plan(testing::make_perceptron({.bits = 2}), {.batch = 10});
  EXPECT_GT(many->arena_bytes(), 9 * bits->arena_bytes());
  EXPECT_EQ(many->packed_weight_bytes(), bits->packed_weight_bytes());
}

TEST(Plan, FillsInTheBatch) {
  const auto plan = make_plan(testing::make_perceptron({}), {.batch = 3});
  EXPECT_EQ(plan->graph().value(plan->graph().inputs()[0]).type, float_type({3, 784}));
  EXPECT_EQ(plan->graph().value(plan->graph().outputs()[0]).type, float_type({3, 10}));
}

TEST(Plan, IsTheSameEveryTime) {
  const auto describe = [](const Plan& plan) {
    std::string text =
        std::to_string(plan.arena_bytes()) + " " + std::to_string(plan.packed_weight_bytes());
    for (const PlanStep& step : plan.steps()) {
      text += " " + step.name + " " + step.kernel + " " +
              std::to_string(plan.storage(plan.graph().node(step.node).output).offset);
    }
    return text;
  };
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    EXPECT_EQ(describe(*make_plan(random_graph(seed))), describe(*make_plan(random_graph(seed))));
  }
}

TEST(Plan, RejectsOptionsOutOfRange) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 4, .hidden = 4});
  expect_error(ErrorKind::kUsage, "batch: expected at least 1, found 0",
               [&] { make_plan(graph, {.batch = 0}); });
  expect_error(ErrorKind::kUsage, "threads of a plan: expected 1 to 1024, found 0",
               [&] { make_plan(graph, {.threads = 0}); });
  expect_error(ErrorKind::kUsage, "threads of a plan: expected 1 to 1024, found 1025",
               [&] { make_plan(graph, {.threads = 1025}); });
}

TEST(Plan, RejectsInvalidGraphs) {
  expect_error(ErrorKind::kFormat, "the graph has no outputs", [] { make_plan(ir::Graph()); });
}

TEST(Plan, RejectsAnImpossibleBatch) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 4}));
  const auto y = graph.add_input("y", float_type({3, ir::kBatch, 4}));
  const auto flat = graph.add_node("flat", ir::Reshape{{ir::kBatch, 12}}, {y});
  const auto sum =
      graph.add_node("both", ir::MatMul{}, {x, graph.add_input("w", float_type({4, 12}))});
  graph.add_output(graph.add_node("sum", ir::Binary{}, {flat, sum}));
  EXPECT_NO_THROW(make_plan(graph, {.batch = 5}));
  expect_error(ErrorKind::kShape, "2^40",
               [&] { make_plan(graph, {.batch = std::size_t{1} << 41}); });
}

TEST(Plan, RejectsEncodedInputsOfTheGraph) {
  Random random(1);
  ir::Graph graph;
  const auto x = graph.add_input(
      "x", {{1, 8}, {ir::ElementType::kFloat32, testing::activation_encoding(2, true, random)}});
  const auto w = graph.add_constant("w", testing::random_weights(3, 8, {2}, random));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w}));
  expect_error(ErrorKind::kUnsupported, "input 'x': expected dense elements, found basis(2 bits",
               [&] { make_plan(graph); });
}

TEST(Plan, NamesTheNodeWhoseKernelFails) {
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({1, 8}));
  const float a[] = {3e38F, 3e38F};
  graph.add_output(graph.add_node("huge",
                                  ir::Encode{std::make_shared<numerics::MatrixEncoding>(
                                      numerics::tensor_encoding(numerics::make_basis(a)))},
                                  {x}));
  expect_error(ErrorKind::kUsage, "node 'huge' (Encode)", [&] { make_plan(graph); });
}

}  // namespace
}  // namespace halftone::runtime
