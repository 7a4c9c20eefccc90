// SPDX-License-Identifier: Apache-2.0
// NaN in an input stays NaN in the outputs that depend on it, whichever kernel computes them.
#include <cmath>
#include <limits>

#include "halftone/ir/ops/activation.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ActivationKind;
constexpr auto kN = ir::kBatch;

/// One operator on an input, with random constants behind it.
ir::Graph graph_of(const ir::Operator& op, const ir::Shape& x, const std::vector<ir::Shape>& rest) {
  Random random(31);
  ir::Graph graph;
  std::vector<ir::ValueId> inputs{graph.add_input("x", ir::test::float_type(x))};
  for (const ir::Shape& shape : rest) {
    inputs.push_back(graph.add_constant("c" + std::to_string(inputs.size()),
                                        testing::random_tensor(shape, random)));
  }
  graph.add_output(graph.add_node("y", op, inputs));
  return graph;
}

/// Runs the graph on random values and one NaN.
void expect_nan_kept(const ir::Graph& graph, const std::string& name) {
  for (const FloatOrder order : {FloatOrder::kFastest, FloatOrder::kFixed}) {
    const PlanSettings options{.batch = 2, .execution = {.float_order = order}};
    const auto plan = make_plan(graph, options);
    Random random(32);
    auto inputs = testing::random_inputs(plan->graph(), random);
    inputs[0].as<float>()[21] = std::numeric_limits<float>::quiet_NaN();
    const auto expected = testing::run_reference(prepare(graph, options).graph, inputs);
    const auto values = expected[0].as<float>();
    EXPECT_TRUE(std::ranges::any_of(values, [](float y) { return std::isnan(y); })) << name;
    Session session(plan);
    ir::test::expect_near(session.run(inputs), expected, 1e-4F,
                          name + " by " + testing::kernel_of(*plan));
  }
}

// Codes of the input with a stored scale, 2: infinity and NaN reach the outputs.
TEST(Overflow, PassesCodes) {
  for (const char* name : {"e4m3_nan", "e5m2_nan", "e2m1fnuz_nan"}) {
    const numerics::NumberSystem& system = numerics::find_system(name);
    numerics::MatrixEncoding encoding = numerics::empty_encoding(
        system, system.max_bits, {numerics::Granularity::kTensor, 0}, 1, 1);
    encoding.set_scale(0, 2);
    const auto shared = std::make_shared<const numerics::MatrixEncoding>(encoding);
    Random random(33);
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({kN, 70}));
    const auto codes = graph.add_node("encode", ir::Encode{shared}, {x});
    const auto w = graph.add_constant("w", testing::random_tensor({5, 70}, random));
    graph.add_output(graph.add_node("y", ir::FullyConnected{}, {codes, w}));
    const PlanSettings options{.batch = 4};
    const auto plan = make_plan(graph, options);
    auto inputs = testing::random_inputs(plan->graph(), random);
    const auto numbers = inputs[0].as<float>();
    numbers[3] = 1e9F;
    numbers[70 + 3] = -1e9F;
    numbers[2 * 70 + 3] = std::numeric_limits<float>::quiet_NaN();
    const auto expected = testing::run_reference(graph, inputs);
    for (std::size_t i = 0; i < 20; ++i) {
      EXPECT_EQ(std::isfinite(expected[0].as<float>()[i]), i >= 15) << name << ' ' << i;
    }
    Session session(plan);
    ir::test::expect_near(session.run(inputs), expected, 1e-4F, name);
  }
}

TEST(Nan, PassesActivations) {
  const std::vector<ir::Activation> activations{{ActivationKind::kIdentity},
                                                {ActivationKind::kRelu},
                                                {ActivationKind::kRelu6},
                                                {ActivationKind::kReluN1To1},
                                                {ActivationKind::kClip, -0.5F, 2},
                                                {ActivationKind::kLeakyRelu, 0.1F},
                                                {ActivationKind::kElu, 1},
                                                {ActivationKind::kTanh},
                                                {ActivationKind::kSigmoid},
                                                {ActivationKind::kHardSigmoid, 0.2F, 0.5F},
                                                {ActivationKind::kHardSwish},
                                                {ActivationKind::kSilu},
                                                {ActivationKind::kGelu},
                                                {ActivationKind::kGeluTanh},
                                                {ActivationKind::kSoftplus},
                                                {ActivationKind::kExp},
                                                {ActivationKind::kSqrt},
                                                {ActivationKind::kAbs},
                                                {ActivationKind::kNeg},
                                                {ActivationKind::kSquare},
                                                {ActivationKind::kErf}};
  for (const ir::Activation& activation : activations) {
    const std::string name = ir::to_string(activation);
    expect_nan_kept(graph_of(ir::Unary{activation}, {kN, 70}, {}), name);
    expect_nan_kept(graph_of(ir::FullyConnected{activation}, {kN, 70}, {{37, 70}, {37}}),
                    name + " of a FullyConnected");
    expect_nan_kept(graph_of(ir::Conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, activation},
                             {kN, 5, 6, 16}, {{16, 3, 3, 16}, {16}}),
                    name + " of a Conv");
    expect_nan_kept(graph_of(ir::Binary{ir::BinaryKind::kAdd, activation}, {kN, 70}, {{70}}),
                    name + " of a sum");
  }
}

TEST(Nan, PassesMaximaAndMinima) {
  for (const ir::BinaryKind kind : {ir::BinaryKind::kMax, ir::BinaryKind::kMin}) {
    const ir::Graph graph = graph_of(ir::Binary{kind, {}}, {kN, 70}, {{70}});
    expect_nan_kept(graph, "first operand");
    ir::Graph swapped;
    const auto x = swapped.add_input("x", ir::test::float_type({kN, 70}));
    const auto c = swapped.add_constant("c", ir::test::counting({70}));
    swapped.add_output(swapped.add_node("y", ir::Binary{kind, {}}, {c, x}));
    expect_nan_kept(swapped, "second operand");
  }
  for (const ir::ReduceKind kind : {ir::ReduceKind::kMax, ir::ReduceKind::kMin}) {
    expect_nan_kept(graph_of(ir::Reduce{kind, {1}, false}, {kN, 70}, {}), "reduced rows");
    expect_nan_kept(graph_of(ir::Reduce{kind, {1}, false}, {kN, 7, 10}, {}), "reduced columns");
  }
  const ir::Window padded{{1, 2}, {1, 1}, {1, 1}, {1, 0}};
  for (const ir::Dim channels : {ir::Dim{3}, ir::Dim{70}}) {
    expect_nan_kept(
        graph_of(ir::Pool{ir::PoolKind::kMax, {3, 2}, padded}, {kN, 5, 6, channels}, {}),
        "pooling");
  }
}

}  // namespace
}  // namespace halftone::runtime
