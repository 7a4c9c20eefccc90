// SPDX-License-Identifier: Apache-2.0
// Loops in files; tests/tflite_control_test.py runs them in LiteRT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "halftone/formats/circle/testing.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::kBatch;
using ir::ValueId;
using ir::test::elements;
using schema::TensorType;
using testing::ElementsAre;

ValueId flag(ir::Graph& graph, bool value, const ir::Shape& shape = {}) {
  ir::Tensor tensor(ElementType::kBool, shape);
  tensor.bytes()[0] = std::byte{value};
  return graph.add_constant("flag", std::move(tensor));
}

/// x [2] doubled in each iteration; rows are x and the number of the iteration.
ir::Loop doubling() {
  auto body = std::make_shared<ir::Graph>();
  const auto t = body->add_input("t", ir::dense_type(ElementType::kInt64, ir::Shape{}));
  const auto x = body->add_input("x", ir::dense_type(ElementType::kFloat32, {2}));
  body->add_output(body->add_node("twice", ir::Binary{BinaryKind::kAdd, {}}, {x, x}));
  const auto count = body->add_node("count", ir::Cast{ElementType::kFloat32}, {t});
  body->add_output(body->add_node("row", ir::Binary{BinaryKind::kAdd, {}}, {x, count}));
  ir::Loop loop{.body = std::move(body), .trips = 3, .keeps = {true}};
  loop.stacks.push_back({1, false});
  return loop;
}

/// A loop that reads x, and its results.
ir::Graph network_of(const ir::Loop& loop, std::size_t copies = 1) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ElementType::kFloat32, {2}));
  const auto record = graph.add_node("loop", loop, {flag(graph, true, {1}), ir::kAbsent, x});
  for (std::size_t copy = 0; copy < copies; ++copy) {
    for (const ir::LoopResult& each : ir::results_of(loop)) {
      const std::string name = "y" + std::to_string(graph.outputs().size());
      graph.add_output(graph.add_node(name, each, {record}));
    }
  }
  return graph;
}

TEST(LoopInFile, StacksAlongAnyAxisAndReadsBackAsCounted) {
  const ir::Graph graph = network_of(doubling());
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    const ir::Graph found = round_trip(graph, flavor);
    const auto outputs = run_reference(found, ir::test::list(floats({2}, {1, 10})));
    EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(8, 80));
    EXPECT_THAT(elements<float>(outputs[1]), ElementsAre(1, 3, 6, 10, 21, 42));
    std::size_t loops = 0;
    for (const ir::NodeId id : found.topological_order()) {
      const auto* loop = std::get_if<ir::Loop>(&found.node(id).op);
      if (loop == nullptr) continue;
      ++loops;
      EXPECT_EQ(loop->trips, 3);
      EXPECT_FALSE(loop->is_while);
      EXPECT_EQ(loop->num_states(), 2U);  // with the stack
    }
    EXPECT_EQ(loops, 1U);
  }
}

TEST(LoopInFile, HasResultsForManyReaders) {
  const ir::Graph graph = network_of(doubling(), 2);
  const auto outputs =
      run_reference(round_trip(graph, CircleFlavor::kTflite), ir::test::list(floats({2}, {1, 10})));
  EXPECT_THAT(elements<float>(outputs[2]), ElementsAre(8, 80));
  EXPECT_THAT(elements<float>(outputs[3]), ElementsAre(1, 3, 6, 10, 21, 42));
}

void expect_not_written(const char* text, const ir::Graph& graph) {
  expect_error(ErrorKind::kUnsupported, text, [&] { export_circle(graph, CircleFlavor::kTflite); });
}

TEST(LoopInFile, RefusesWhatFilesDoNotHave) {
  ir::Graph whole = network_of(doubling());
  whole.add_output(whole.node(*whole.producer(whole.outputs()[0])).inputs[0]);
  expect_not_written("a record of results as a value", whole);

  ir::Loop endless = doubling();
  endless.trips.reset();
  endless.stacks.clear();
  auto body = std::make_shared<ir::Graph>(*endless.body);
  body->set_outputs({body->outputs()[0]});
  endless.body = std::move(body);
  expect_not_written("a loop without an end", network_of(endless));

  ir::Graph alone;
  const auto bytes = alone.add_input("x", ir::dense_type(ElementType::kUint8, {8}));
  alone.add_output(alone.add_node("y", ir::LoopResult{ElementType::kFloat32, {2}, 0}, {bytes}));
  expect_not_written("a record that no loop computes", alone);

  auto copy = std::make_shared<ir::Graph>();
  copy->add_input("t", ir::dense_type(ElementType::kInt64, ir::Shape{}));
  const auto row = copy->add_input("row", ir::dense_type(ElementType::kFloat32, {2}));
  copy->add_output(copy->add_node("copy", ir::Reshape{{2}}, {row}));
  const auto copies = [&](ir::Dim trips, bool reversed) {
    const ir::Loop map{
        .body = copy, .trips = trips, .reads = {{0, reversed}}, .stacks = {{0, reversed}}};
    ir::Graph graph;
    const auto values = graph.add_input("x", ir::dense_type(ElementType::kFloat32, {trips, 2}));
    ir::Tensor yes(ElementType::kBool, ir::Shape{});
    yes.bytes()[0] = std::byte{1};
    const auto go = graph.add_constant("go", std::move(yes));
    const auto record = graph.add_node("loop", map, {go, ir::kAbsent, values});
    graph.add_output(graph.add_node("y", ir::results_of(map)[0], {record}));
    return graph;
  };
  expect_not_written("as many iterations as samples", copies(ir::kBatch, false));
  expect_not_written("slices in reverse along an extent that is computed",
                     copies(ir::dim_of(ir::Extent::symbol("#0")), true));

  ir::Graph rows;
  const auto x = rows.add_input("x", ir::dense_type(ElementType::kFloat32, {4, 2}));
  const auto at = rows.add_input("at", ir::dense_type(ElementType::kInt64, {2, 1}));
  const auto part = rows.add_input("part", ir::dense_type(ElementType::kFloat32, {2, 2}));
  rows.add_output(rows.add_node("y", ir::ScatterND{}, {x, at, part}));
  expect_not_written("updates other than one row", rows);
}

/// A DYNAMIC_UPDATE_SLICE of x [3, 4].
schema::ModelT update(const Ints& part, const Ints& begin, const Ints& whole = {3, 4}) {
  return one_operator(static_cast<std::int32_t>(OperatorCode::kDynamicUpdateSlice),
                      {{whole}, {part}, integers(begin), {whole}}, {0, 1, 2}, {3});
}

TEST(DynamicUpdateSlice, ReplacesAPartThatEndsInTheTensor) {
  schema::ModelT model = update({2, 2}, {2, 1});
  model.subgraphs[0]->inputs = {0, 1};
  const auto outputs = run_reference(
      import_circle(packed(model)),
      ir::test::list(floats({3, 4}, std::vector<float>(12, 0)), floats({2, 2}, {1, 2, 3, 4})));
  EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(0, 0, 0, 0, 0, 1, 2, 0, 0, 3, 4, 0));
}

TEST(DynamicUpdateSlice, OfAllAxesIsTheUpdate) {
  schema::ModelT model = update({3, 4}, {0, 0});
  model.subgraphs[0]->inputs = {0, 1};
  const ir::Graph graph = import_circle(packed(model));
  EXPECT_EQ(graph.topological_order().size(), 1U);
}

TEST(DynamicUpdateSlice, RefusesPartsThatDoNotFit) {
  const auto expect_refused = [](const char* text, schema::ModelT model, ErrorKind kind) {
    model.subgraphs[0]->inputs = {0, 1};
    expect_error(kind, text, [&] { import_circle(packed(model)); });
  };
  expect_refused("an update [2, 5] of [3, 4]", update({2, 5}, {0, 0}), ErrorKind::kFormat);
  expect_refused("an index for each", update({2, 2}, {0}), ErrorKind::kFormat);
  schema::ModelT open = update({1, 2}, {0, 0}, {1, 4});
  open.subgraphs[0]->tensors[0]->shape_signature = {-1, 4};
  open.subgraphs[0]->tensors[1]->shape_signature = {-1, 2};
  open.subgraphs[0]->inputs = {0, 1};
  EXPECT_TRUE(import_circle(packed(open)).value(ValueId{0}).type.shape.is_static());
  expect_refused("an update of too many parts", update({2000, 2000}, {0, 0}, {3000, 3000}),
                 ErrorKind::kFormat);
}

}  // namespace
}  // namespace halftone::formats::circle
