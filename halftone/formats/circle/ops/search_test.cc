// SPDX-License-Identifier: Apache-2.0
// Operators that find elements, and extents that depend on data, in files;
// tests/tflite_control_test.py and tests/tflite_operators_test.py run them in LiteRT.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "halftone/formats/circle/testing.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::circle {
namespace {

using ir::BinaryKind;
using ir::Dim;
using ir::ElementType;
using ir::ValueId;
using ir::test::elements;
using schema::TensorType;
using testing::ElementsAre;

const ir::ValueType kMatrix = ir::dense_type(ElementType::kFloat32, {2, 3});

/// The elements of x [2, 3] that are not zero, behind `what` of them.
ir::Graph found_elements(const std::function<ValueId(ir::Graph&, ValueId, Dim)>& what) {
  ir::Graph graph;
  const auto x = graph.add_input("x", kMatrix);
  const auto all = graph.add_node("all", ir::NonZero{}, {x});
  const auto row = graph.add_node("row", ir::Slice{0, 0, 1, 1}, {all});
  const auto zero = graph.add_constant("zero", ir::Tensor(ElementType::kInt64, {}));
  const auto found =
      graph.add_node("found", ir::Binary{BinaryKind::kGreaterOrEqual, {}}, {row, zero});
  const auto ones = graph.add_node("ones", ir::Cast{ElementType::kInt64}, {found});
  const std::string symbol = graph.fresh_symbol();
  graph.define(symbol,
               graph.add_node("count", ir::Reduce{ir::ReduceKind::kSum, {0, 1}, false}, {ones}));
  const Dim count = ir::dim_of(ir::Extent::symbol(symbol));
  const auto first =
      graph.add_node("first", ir::Slice{1, 0, 1, static_cast<std::size_t>(count)}, {all});
  const auto rows = graph.add_node("rows", ir::Transpose{{1, 0}}, {first});
  graph.add_output(what(graph, graph.add_node("y", ir::GatherND{}, {x, rows}), count));
  return graph;
}

TEST(ComputedExtents, AreWrittenAndReadBack) {
  const ir::Graph graph = found_elements([](ir::Graph& made, ValueId y, Dim count) {
    // All but the last, then all twice: extents that are sums and products.
    const Dim less = ir::dim_of(ir::extent_of(count) - 1);
    const auto part =
        made.add_node("part", ir::Slice{0, 0, 1, static_cast<std::size_t>(less)}, {y});
    const auto pair = made.add_node("pair", ir::Reshape{{1, count}}, {y});
    const auto both = made.add_node("both", ir::BroadcastTo{{2, count}}, {pair});
    const Dim twice = ir::dim_of(ir::extent_of(count) * 2);
    const auto list = made.add_node("list", ir::Reshape{{twice}}, {both});
    return made.add_node("joined", ir::Concat{0}, {part, list});
  });
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    const ir::Graph found = round_trip(graph, flavor);
    const auto outputs = run_reference(found, ir::test::list(floats({2, 3}, {0, 1, 2, 0, 0, 3})));
    EXPECT_THAT(elements<float>(outputs[0]), ElementsAre(1, 2, 1, 2, 3, 1, 2, 3));
  }
}

void expect_no_file(const char* text, const ir::Graph& graph) {
  expect_error(ErrorKind::kUnsupported, text, [&] { export_circle(graph, CircleFlavor::kTflite); });
}

/// The error for one node on x and further inputs.
void expect_node_in_no_file(const char* text, const ir::Operator& op,
                            const std::vector<ir::ValueType>& inputs) {
  ir::Graph graph;
  std::vector<ValueId> values;
  for (const ir::ValueType& type : inputs) {
    values.push_back(graph.add_input("x" + std::to_string(values.size()), type));
  }
  graph.add_output(graph.add_node("y", op, values));
  expect_no_file(text, graph);
}

TEST(Searches, AreRefusedWhereFilesHaveNone) {
  expect_node_in_no_file("the last of equal elements", ir::ArgReduce{1, true, true, false},
                         {kMatrix});
  expect_node_in_no_file("axes that indices share", ir::GatherND{1},
                         {kMatrix, ir::dense_type(ElementType::kInt64, {2, 1})});
  expect_node_in_no_file("distinct slices of more than one axis", ir::Unique{}, {kMatrix});
  const auto boxes = ir::dense_type(ElementType::kFloat32, {1, 5, 4});
  const auto scores = [](Dim classes) {
    return ir::dense_type(ElementType::kFloat32, {1, classes, 5});
  };
  expect_node_in_no_file("an iou_threshold of 1", ir::NonMaxSuppression{2, 1}, {boxes, scores(1)});
  expect_node_in_no_file("more than 1024 images and classes", ir::NonMaxSuppression{2, 0.5F},
                         {boxes, scores(1025)});
  expect_node_in_no_file("a limit or thresholds as inputs", ir::NonMaxSuppression{},
                         {boxes, scores(1), ir::dense_type(ElementType::kInt64, {1})});
  expect_no_file(
      "steps along an open extent", found_elements([](ir::Graph& made, ValueId y, Dim count) {
        return made.add_node("back", ir::Slice{0, 0, 2, static_cast<std::size_t>(count)}, {y});
      }));
  const Dim open = ir::dim_of(ir::Extent::symbol("H"));
  expect_node_in_no_file("an extent 'H' that nothing computes", ir::BroadcastTo{{2, open}},
                         {ir::dense_type(ElementType::kFloat32, {1, open})});
}

/// A SLICE of x [6] whose begin and size are computed, or -2 where it is not.
std::vector<std::byte> computed_slice(std::int32_t begin, std::int32_t size) {
  FileBuilder file;
  const auto x = file.tensor({{6}});
  const auto n = file.tensor({{1}, TensorType::INT32});
  const auto of = [&](std::int32_t number) {
    return number == -2 ? n : file.tensor(integers({number}));
  };
  const auto first = of(begin);
  const auto y = file.computed(OperatorCode::kSlice, {x, first, of(size)}, {{1}});
  file.ends({x, n}, {y});
  return file.bytes();
}

TEST(ComputedSlice, TakesNumbersOfTheNetwork) {
  const auto run = [](std::int32_t begin, std::int32_t size, std::int32_t number) {
    const auto n = ir::Tensor::from<std::int32_t>({1}, std::span(&number, 1));
    return run_reference(import_circle(computed_slice(begin, size)),
                         ir::test::list(floats({6}, {0, 1, 2, 3, 4, 5}), n.clone()));
  };
  EXPECT_THAT(elements<float>(run(1, -2, 3)[0]), ElementsAre(1, 2, 3));
  EXPECT_THAT(elements<float>(run(-2, -1, 4)[0]), ElementsAre(4, 5));
  EXPECT_THAT(elements<float>(run(-2, 2, 3)[0]), ElementsAre(3, 4));
}

TEST(ComputedSlice, RefusesNumbersOutOfRange) {
  expect_error(ErrorKind::kFormat, "begin is out of range",
               [] { import_circle(computed_slice(-3, -2)); });
  expect_error(ErrorKind::kFormat, "size is out of range",
               [] { import_circle(computed_slice(-2, -3)); });
}

TEST(Subgraph, HasNoExtentsThatDependOnData) {
  FileBuilder file;
  const auto c = file.tensor({{1}, TensorType::BOOL});
  const auto x = file.tensor({{4}});
  schema::IfOptionsT options;
  options.then_subgraph_index = options.else_subgraph_index = 1;
  const auto y =
      file.computed(OperatorCode::kIf, {c, x}, {{4, 1}, TensorType::INT64}, united(options));
  file.ends({c, x}, {y});
  file.subgraph();
  const auto z = file.tensor({{4}});
  file.ends({z}, {file.computed(OperatorCode::kWhere, {z}, {{4, 1}, TensorType::INT64})});
  expect_error(ErrorKind::kUnsupported, "subgraphs cannot have extents that depend on data",
               [&] { import_circle(file.bytes()); });
}

}  // namespace
}  // namespace halftone::formats::circle
