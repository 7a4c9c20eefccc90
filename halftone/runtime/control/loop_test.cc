// SPDX-License-Identifier: Apache-2.0
// Loops as plans run them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;
using ir::test::floats;
using ir::test::list;

/// Adds a loop that always begins, and its results as outputs.
void add_loop(ir::Graph& graph, const ir::Loop& loop, std::vector<ir::ValueId> operands) {
  ir::Tensor yes(ir::ElementType::kBool, ir::Shape{});
  yes.bytes()[0] = std::byte{1};
  operands.insert(operands.begin(), {graph.add_constant("yes", std::move(yes)), ir::kAbsent});
  const auto record = graph.add_node("loop", loop, std::move(operands));
  for (const ir::LoopResult& result : ir::results_of(loop)) {
    graph.add_output(graph.add_node("result", result, {record}));
  }
}

ir::ValueId add_iteration(ir::Graph& body) {
  return body.add_input("t", ir::dense_type(ir::ElementType::kInt64, ir::Shape{}));
}

/// Fibonacci numbers: (a, b) = (b, a + b), which moves one state into the place of another.
std::shared_ptr<const ir::Graph> fibonacci() {
  auto body = std::make_shared<ir::Graph>();
  add_iteration(*body);
  const auto a = body->add_input("a", float_type({2}));
  const auto b = body->add_input("b", float_type({2}));
  body->add_output(b);
  body->add_output(body->add_node("next", ir::test::kAdd, {a, b}));
  return body;
}

/// An Elman cell over x [T, N, 3], in a loop over the layers of a stack of `depth`.
ir::Graph nested(ir::Dim depth) {
  Random random(3);
  auto cell = std::make_shared<ir::Graph>();
  add_iteration(*cell);
  const auto h = cell->add_input("h", float_type({ir::kBatch, 3}));
  const auto x = cell->add_input("x", float_type({ir::kBatch, 3}));
  const auto joined = cell->add_node("joined", ir::Concat{1}, {x, h});
  const auto w = cell->add_constant("w", testing::random_tensor({3, 6}, random));
  const auto next =
      cell->add_node("fc", ir::FullyConnected{{ir::ActivationKind::kTanh}}, {joined, w});
  cell->add_output(next);
  cell->add_output(next);
  const ir::Loop over_time{
      .body = cell, .trips = 5, .reads = {{0}}, .keeps = {false}, .stacks = {{0}}};
  auto layer = std::make_shared<ir::Graph>();
  add_iteration(*layer);
  const auto sequence = layer->add_input("sequence", float_type({5, ir::kBatch, 3}));
  const auto first = layer->add_input("first", float_type({ir::kBatch, 3}));
  add_loop(*layer, over_time, {first, sequence});
  ir::Graph graph;
  const auto values = graph.add_input("x", float_type({5, ir::kBatch, 3}));
  const auto start = graph.add_input("h", float_type({ir::kBatch, 3}));
  add_loop(graph, {.body = layer, .trips = depth, .keeps = {true}}, {values, start});
  return graph;
}

TEST(Loop, MovesStatesIntoEachOther) {
  ir::Graph graph;
  const auto a = graph.add_input("a", float_type({2}));
  const auto b = graph.add_input("b", float_type({2}));
  add_loop(graph, {.body = fibonacci(), .trips = 10, .keeps = {true, true}}, {a, b});
  Session session(make_plan(graph));
  const auto y = session.run(list(floats({2}, {0, 1}), floats({2}, {1, 1})));
  EXPECT_THAT(ir::test::elements<float>(y[0]), ::testing::ElementsAre(55, 89));
  EXPECT_THAT(ir::test::elements<float>(y[1]), ::testing::ElementsAre(89, 144));
}

TEST(Loop, InALoopIsTheReference) {
  const ir::Graph graph = nested(3);
  Random random(4);
  const auto inputs =
      list(testing::random_tensor({5, 4, 3}, random), testing::random_tensor({4, 3}, random));
  Session session(make_plan(graph, {.batch = 4}));
  const auto expected = ir::test::run_reference(graph, inputs);
  // 15 steps with sums of 6 products.
  ir::test::expect_near(session.run(inputs), expected, 15 * 8 * 6e-8F);
  ir::test::expect_near(session.run(inputs), expected, 15 * 8 * 6e-8F);
}

TEST(Loop, CountsTheMemoryOfItsBody) {
  const auto plan = make_plan(nested(3), {.batch = 4});
  std::size_t values = 0;
  for (const PlanStep& step : plan->steps()) values += step.body.scratch_bytes;
  EXPECT_GE(values, 2 * sizeof(float) * 5 * 4 * 3);
  EXPECT_GE(plan->arena_bytes(), values);
  EXPECT_GE(plan->packed_weight_bytes(), 18 * sizeof(float));
}

TEST(Loop, KeepsNoWeightsBesideThoseOfThePlan) {
  const auto plan = make_plan(nested(3), {.batch = 4});
  for (const PlanStep& step : plan->steps()) {
    const auto* loop = std::get_if<ir::Loop>(&plan->graph().node(step.node).op);
    if (loop == nullptr) continue;
    for (std::size_t v = 0; v < loop->body->num_values(); ++v) {
      EXPECT_EQ(loop->body->constant(ir::ValueId{static_cast<std::uint32_t>(v)}), nullptr);
    }
  }
}

TEST(Loop, WithoutAnEndIsAnError) {
  auto body = std::make_shared<ir::Graph>();
  add_iteration(*body);
  ir::Tensor yes(ir::ElementType::kBool, ir::Shape{});
  yes.bytes()[0] = std::byte{1};
  const auto s = body->add_input("s", float_type({1}));
  body->add_output(body->add_constant("always", std::move(yes)));
  body->add_output(body->add_node("twice", ir::test::kAdd, {s, s}));
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({1}));
  add_loop(graph, {.body = body, .is_while = true, .keeps = {true}, .max_iterations = 7}, {x});
  Session session(make_plan(graph));
  halftone::expect_error(ErrorKind::kUnsupported,
                         "node 'loop': a loop did not end within 7 iterations",
                         [&] { session.run(list(floats({1}, {1}))); });
}

}  // namespace
}  // namespace halftone::runtime
