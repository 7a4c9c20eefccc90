// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/control.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "halftone/ir/open_extents.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/verify.h"
#include "halftone/ir/work.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::expect_error;
using test::float_type;
using test::floats;
using test::list;
using test::tensor;
using testing::ElementsAre;

const ValueType kScalar = dense_type(ElementType::kInt64, Shape{});

/// s' = s + x[t], and stacks the sums. @param extent  of the states
std::shared_ptr<Graph> sums(Dim extent) {
  auto body = std::make_shared<Graph>();
  body->add_input("t", kScalar);
  const ValueId s = body->add_input("s", float_type({extent}));
  const ValueId x = body->add_input("x", float_type({extent}));
  const ValueId sum = body->add_node("sum", test::kAdd, {s, x});
  body->add_output(sum);
  body->add_output(sum);
  return body;
}

Loop scan(Dim extent, Dim trips, bool reversed = false) {
  return {.body = sums(extent),
          .trips = trips,
          .reads = {{0, reversed}},
          .keeps = {true},
          .stacks = {{0, reversed}}};
}

Tensor flag(bool value) {
  Tensor result(ElementType::kBool, Shape{});
  result.bytes()[0] = std::byte{value};
  return result;
}

/// A graph of a loop over x, with its results as outputs.
Graph graph_of(const Loop& loop, Shape state, Shape x) {
  Graph graph;
  const ValueId s = graph.add_input("s", float_type(std::move(state)));
  const ValueId values = graph.add_input("x", float_type(std::move(x)));
  const ValueId go = graph.add_constant("go", flag(true));
  const ValueId record = graph.add_node("loop", loop, {go, kAbsent, s, values});
  for (const LoopResult& result : results_of(loop)) {
    graph.add_output(graph.add_node("result", result, {record}));
  }
  return graph;
}

TEST(Loop, SumsSlices) {
  const Graph graph = graph_of(scan(2, 3), {2}, {3, 2});
  const auto y = test::run_reference(graph, list(floats({2}, {1, 2}), test::counting({3, 2})));
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(7, 11));
  EXPECT_THAT(elements<float>(y[1]), ElementsAre(1, 3, 3, 6, 7, 11));
}

TEST(Loop, ReadsAndWritesInReverse) {
  const Graph graph = graph_of(scan(2, 3, true), {2}, {3, 2});
  const auto y = test::run_reference(graph, list(floats({2}, {1, 2}), test::counting({3, 2})));
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(7, 11));
  EXPECT_THAT(elements<float>(y[1]), ElementsAre(7, 11, 7, 10, 5, 7));
}

TEST(Loop, WithoutIterationsKeepsItsStates) {
  const Graph graph = graph_of(scan(2, 0), {2}, {0, 2});
  const auto y = test::run_reference(graph, list(floats({2}, {1, 2}), floats({0, 2}, {})));
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(1, 2));
  EXPECT_EQ(y[1].shape(), Shape({0, 2}));
}

TEST(Loop, KeepsExtentsOpen) {
  const Dim length = dim_of(Extent::symbol("T"));
  Graph graph = graph_of(scan(kBatch, length), {kBatch}, {length, kBatch});
  EXPECT_EQ(graph.value(graph.outputs()[1]).type, float_type({length, kBatch}));
  verify(graph);
  fill_in_extents(graph, {{"T", 3}});
  fill_in_batch(graph, 2);
  verify(graph);
  EXPECT_EQ(graph.value(graph.outputs()[1]).type, float_type({3, 2}));
  const auto y = test::run_reference(graph, list(floats({2}, {1, 2}), test::counting({3, 2})));
  EXPECT_THAT(elements<float>(y[1]), ElementsAre(1, 3, 3, 6, 7, 11));
}

/// Runs while t < 2, and doubles its state.
Loop doubling() {
  auto body = std::make_shared<Graph>();
  const ValueId t = body->add_input("t", kScalar);
  const ValueId s = body->add_input("s", float_type({1}));
  const ValueId end = body->add_constant("end", tensor<std::int64_t>({}, {2}));
  body->add_output(body->add_node("go", Binary{BinaryKind::kLess, {}}, {t, end}));
  body->add_output(body->add_node("sum", test::kAdd, {s, s}));
  return {.body = body, .is_while = true, .keeps = {true}};
}

TEST(Loop, CountsTheProductsOfAllIterations) {
  auto body = std::make_shared<Graph>(*sums(2));
  const ValueId w = body->add_constant("w", floats({2, 2}, {1, 2, 3, 4}));
  const ValueId y = body->add_node("fc", FullyConnected{}, {body->inputs()[2], w});
  body->set_outputs({y, y});
  Loop loop = scan(2, 3);
  loop.body = body;
  const Graph graph = graph_of(loop, {2}, {3, 2});
  for (const NodeId id : graph.topological_order()) {
    const bool is_loop = std::holds_alternative<Loop>(graph.node(id).op);
    EXPECT_EQ(work_of(graph, graph.node(id)).products(), is_loop ? 3 * 2 * 2 : 0);
  }
}

TEST(Loop, EndsWhereItsConditionOrLimitSays) {
  const auto run = [](const Loop& loop, bool condition, const Tensor* limit) {
    const Tensor go = flag(condition);
    const Tensor s = floats({1}, {1});
    const std::vector<const Tensor*> inputs{&go, limit, &s};
    const Tensor record = evaluate_operator(loop, inputs);
    return elements<float>(test::evaluate(results_of(loop)[0], record));
  };
  EXPECT_THAT(run(doubling(), true, nullptr), ElementsAre(8));
  EXPECT_THAT(run(doubling(), false, nullptr), ElementsAre(1));
  const Tensor two = tensor<std::int64_t>({1}, {2});
  EXPECT_THAT(run(doubling(), true, &two), ElementsAre(4));
  const Tensor negative = tensor<std::int64_t>({}, {-1});
  EXPECT_THAT(run(doubling(), true, &negative), ElementsAre(1));
  Loop endless = doubling();
  endless.max_iterations = 2;
  expect_error(ErrorKind::kUnsupported, "a loop did not end within 2 iterations",
               [&] { run(endless, true, nullptr); });
}

void expect_refused(const std::string& text, const Loop& loop, Shape state = {2},
                    Shape x = {3, 2}) {
  expect_error(ErrorKind::kShape, text, [&] { graph_of(loop, std::move(state), std::move(x)); });
}

TEST(Loop, RefusesBodiesThatDoNotFit) {
  expect_error(ErrorKind::kShape, "expected a body", [] {
    infer_output(Loop{}, std::vector<const ValueType*>{&kScalar, nullptr});
  });
  Loop loop = scan(2, 3);
  loop.is_while = true;
  expect_refused("a body whose inputs and outputs do not fit the loop", loop);
  loop = scan(2, 3);
  loop.trips.reset();
  expect_refused("a result for each iteration needs their number before the loop runs", loop);
  loop = scan(2, 3);
  loop.stacks[0].axis = 2;
  expect_refused("axis of a stack: expected one of its axes", loop);
  loop = scan(2, 3);
  loop.reads[0].axis = 2;
  expect_refused("axis of slices: expected one of float32[3, 2]", loop);
  loop = scan(2, 4);
  expect_refused("slices along axis 0 of float32[3, 2]: expected 4 iterations", loop);
  expect_refused("'s' of the body: expected float32[2], found float32[1]", scan(2, 3), {1});
}

/// y[t] = 2 x[t], without states. @param twice  computes the results
Loop mapping(const std::function<ValueId(Graph&, ValueId t, ValueId x)>& twice) {
  auto body = std::make_shared<Graph>();
  const ValueId t = body->add_input("t", kScalar);
  const ValueId x = body->add_input("x", float_type({2}));
  body->add_output(twice(*body, t, x));
  return {.body = body, .trips = kBatch, .reads = {{0}}, .stacks = {{0}}};
}

Graph graph_over_samples(const Loop& loop, bool captures = false) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 2}));
  std::vector<ValueId> inputs{graph.add_constant("go", flag(true)), kAbsent, x};
  if (captures) inputs.push_back(x);
  const ValueId record = graph.add_node("loop", loop, inputs);
  graph.add_output(graph.add_node("result", results_of(loop)[0], {record}));
  return graph;
}

TEST(Loop, MapsSamples) {
  const auto twice = [](Graph& body, ValueId /*t*/, ValueId x) {
    return body.add_node("twice", test::kAdd, {x, x});
  };
  Graph graph = graph_over_samples(mapping(twice));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type, float_type({kBatch, 2}));
  fill_in_batch(graph, 3);
  const auto y = test::run_reference(graph, list(test::counting({3, 2})));
  EXPECT_THAT(elements<float>(y[0]), ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Loop, RefusesToMixSamples) {
  const auto expect_mixing = [](const Loop& loop, bool captures = false) {
    expect_error(ErrorKind::kShape, "iterations along the batch (N) mix samples",
                 [&] { graph_over_samples(loop, captures); });
  };
  expect_error(ErrorKind::kShape, "iterations along the batch (N) mix samples", [] {
    graph_of(scan(2, kBatch), {2}, {kBatch, 2});
  });
  const auto copy = [](Graph& body, ValueId /*t*/, ValueId x) {
    return body.add_node("copy", Reshape{{2}}, {x});
  };
  Loop reversed = mapping(copy);
  reversed.stacks[0].reversed = true;
  expect_mixing(reversed);
  expect_mixing(mapping([](Graph& body, ValueId t, ValueId x) {
    const ValueId number = body.add_node("number", Cast{ElementType::kFloat32}, {t});
    return body.add_node("sum", test::kAdd, {x, number});
  }));
  expect_mixing(mapping([](Graph& /*body*/, ValueId t, ValueId /*x*/) { return t; }));
  Loop reading = mapping(copy);
  auto body = std::make_shared<Graph>(*reading.body);
  body->add_input("all", float_type({kBatch, 2}));
  reading.body = body;
  expect_mixing(reading, true);
}

TEST(Loop, RefusesStatesThatGrow) {
  auto body = sums(2);
  auto grown = std::make_shared<Graph>(*body);
  const ValueId both = grown->add_node("both", Concat{0}, {body->inputs()[1], body->inputs()[2]});
  grown->set_outputs({both, both});
  Loop loop = scan(2, 3);
  loop.body = grown;
  expect_refused("state 's' behind an iteration: expected float32[2], found float32[4]", loop);
}

TEST(Loop, RefusesOperandsThatDoNotFit) {
  const Loop loop = doubling();
  const ValueType yes = dense_type(ElementType::kBool, Shape{});
  const ValueType two = dense_type(ElementType::kBool, Shape{2});
  const ValueType s = float_type({1});
  const auto refuse = [&](const std::string& text, std::vector<const ValueType*> types) {
    expect_error(ErrorKind::kShape, text, [&] { infer_output(loop, types); });
  };
  refuse("expected 3 inputs, found 2", {&yes, nullptr});
  refuse("condition: expected one bool, found bool[2]", {&two, nullptr, &s});
  refuse("iterations: expected one int64, found float32[1]", {&yes, &s, &s});
}

TEST(LoopResult, StaysInsideItsRecord) {
  const ValueType record = dense_type(ElementType::kUint8, Shape{8});
  EXPECT_EQ(test::infer(LoopResult{ElementType::kInt64, {1}, 0}, {record}),
            dense_type(ElementType::kInt64, Shape{1}));
  expect_error(ErrorKind::kShape, "a result past the end of uint8[8]", [&] {
    test::infer(LoopResult{ElementType::kInt64, {1}, 4}, {record});
  });
  expect_error(ErrorKind::kShape, "expected a record of bytes, found float32[2]", [&] {
    test::infer(LoopResult{ElementType::kInt64, {1}, 0}, {float_type({2})});
  });
}

}  // namespace
}  // namespace halftone::ir
