// SPDX-License-Identifier: Apache-2.0
// Loop and Scan, read and written.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>

#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/open_extents.h"
#include "halftone/ir/symbolic_batch.h"

namespace halftone::formats::onnx {
namespace {

using ir::test::tensor;
using onnx_pb::AttributeProto;
using onnx_pb::GraphProto;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

NodeProto& append(GraphProto& graph, const std::string& op_type,
                  const std::vector<std::string>& inputs, const std::string& output) {
  NodeProto& node = *graph.add_node();
  node.set_op_type(op_type);
  for (const std::string& input : inputs) node.add_input(input);
  node.add_output(output);
  return node;
}

GraphProto& add_body(NodeProto& node) {
  AttributeProto& attribute = *node.add_attribute();
  attribute.set_name("body");
  attribute.set_type(AttributeProto::GRAPH);
  return *attribute.mutable_g();
}

void set_ends(GraphProto& body, const std::vector<std::string>& inputs,
              const std::vector<std::string>& outputs) {
  for (const std::string& input : inputs) body.add_input()->set_name(input);
  for (const std::string& output : outputs) body.add_output()->set_name(output);
}

/// s' = s + c, and the sums; c is of the enclosing graph.
TestModel summing(const std::string& limit, const std::string& condition) {
  TestModel model;
  model.input("s0", {2}).floats("c", {2}, {1, 10}).output("last").output("sums");
  NodeProto& node = model.node("Loop", {limit, condition, "s0"}, {"last", "sums"});
  GraphProto& body = add_body(node);
  set_ends(body, {"t", "go", "s"}, {"again", "sum", "row"});
  append(body, "Identity", {"go"}, "again");
  append(body, "Add", {"s", "c"}, "sum");
  append(body, "Identity", {"sum"}, "row");
  return model;
}

TensorProto flag_tensor(bool value) {
  TensorProto proto;
  proto.set_data_type(TensorProto::BOOL);
  proto.add_int32_data(value ? 1 : 0);
  return proto;
}

std::vector<std::vector<float>> run_all(ir::Graph graph, std::vector<ir::Tensor> inputs) {
  std::vector<std::optional<ir::Shape>> shapes;
  for (const ir::Tensor& input : inputs) shapes.emplace_back(input.shape());
  ir::fill_in_extents(graph, ir::sizes_of(graph, graph.inputs(), shapes));
  std::vector<std::vector<float>> all;
  for (const ir::Tensor& y : run_reference(graph, inputs)) all.push_back(numbers(y));
  return all;
}

/// What a model computes, and what the file of its graph does.
std::vector<std::vector<float>> run_both(const TestModel& model, std::vector<ir::Tensor> inputs) {
  const ir::Graph graph = model.import();
  std::vector<ir::Tensor> copies;
  for (const ir::Tensor& input : inputs) copies.push_back(input.clone());
  const auto read_again = import_onnx(export_onnx(graph), {});
  const auto again = run_all(read_again, std::move(copies));
  auto once = run_all(graph, std::move(inputs));
  EXPECT_EQ(once, again);
  return once;
}

bool has_loop(const ir::Graph& graph) {
  return std::ranges::any_of(graph.topological_order(), [&](ir::NodeId id) {
    return std::holds_alternative<ir::Loop>(graph.node(id).op);
  });
}

TEST(Loop, OfAKnownNumberOfIterations) {
  TestModel model = summing("limit", "").integers("limit", {3});
  EXPECT_TRUE(has_loop(model.import()));
  const auto y = run_both(model, list(floats({2}, {1, 2})));
  EXPECT_THAT(y[0], ElementsAre(4, 32));
  EXPECT_THAT(y[1], ElementsAre(2, 12, 3, 22, 4, 32));
}

TEST(Loop, WhoseConditionIsFalseDoesNothing) {
  TestModel model = summing("limit", "no").integers("limit", {3});
  model.initializer("no", flag_tensor(false));
  const auto y = run_all(model.import(), list(floats({2}, {1, 2})));
  EXPECT_THAT(y[0], ElementsAre(1, 2));
  EXPECT_TRUE(y[1].empty());
}

/// While s < 20, s' = 2 s.
TestModel doubling() {
  TestModel model;
  model.input("s0", {1}).floats("end", {1}, {20}).initializer("yes", flag_tensor(true));
  model.output("last");
  GraphProto& body = add_body(model.node("Loop", {"", "yes", "s0"}, {"last"}));
  set_ends(body, {"t", "go", "s"}, {"again", "twice"});
  append(body, "Add", {"s", "s"}, "twice");
  append(body, "Less", {"twice", "end"}, "less");
  set(append(body, "Squeeze", {"less"}, "again"), "unused", std::int64_t{0});
  return model;
}

TEST(Loop, GoesOnWhileItsConditionHolds) {
  EXPECT_THAT(run_both(doubling(), list(floats({1}, {3})))[0], ElementsAre(24));
  EXPECT_THAT(run_both(doubling(), list(floats({1}, {30})))[0], ElementsAre(60));
}

TEST(Where, OfBooleansIsWrittenWithLogic) {
  TestModel model;
  model.input("c", {2}, TensorProto::BOOL).input("a", {2}, TensorProto::BOOL);
  model.input("b", {2}, TensorProto::BOOL).output("y");
  model.node("Where", {"c", "a", "b"}, {"y"});
  const auto flags = [](bool first, bool second) {
    ir::Tensor result(ir::ElementType::kBool, ir::Shape{2});
    result.bytes()[0] = std::byte{first};
    result.bytes()[1] = std::byte{second};
    return result;
  };
  // ONNX Runtime has no Where of booleans.
  const auto file = export_onnx(model.import());
  const std::string text(reinterpret_cast<const char*>(file.data()), file.size());
  EXPECT_EQ(text.find("Where"), std::string::npos);
  EXPECT_THAT(run_both(model, list(flags(true, false), flags(true, true), flags(false, false)))[0],
              ElementsAre(1, 0));
  EXPECT_THAT(run_both(model, list(flags(true, false), flags(false, true), flags(true, true)))[0],
              ElementsAre(0, 1));
}

TEST(Loop, WithoutAnEndStopsAtTheGivenNumber) {
  ImportOptions options;
  options.max_iterations = 4;
  const ir::Graph graph = import_onnx(doubling().bytes(), {}, options);
  ir::test::expect_error(ErrorKind::kUnsupported, "did not end within 4 iterations",
                         [&] { run_all(graph, list(floats({1}, {0}))); });
}

TEST(Loop, OfAComputedNumberHasAsManyRows) {
  TestModel model = summing("limit", "").input("limit", {}, TensorProto::INT64);
  const auto run = [&](std::int64_t limit) {
    return run_both(
        model, list(floats({2}, {1, 2}), ir::Tensor::from<std::int64_t>({}, std::span(&limit, 1))));
  };
  const auto y = run(2);
  EXPECT_THAT(y[0], ElementsAre(3, 22));
  EXPECT_THAT(y[1], ElementsAre(2, 12, 3, 22));
  for (const std::int64_t none : {0, -4}) {
    EXPECT_THAT(run(none)[0], ElementsAre(1, 2));
    EXPECT_TRUE(run(none)[1].empty());
  }
  NodeProto& node = *model.proto().mutable_graph()->mutable_node(0);
  node.mutable_output()->RemoveLast();
  node.mutable_attribute(0)->mutable_g()->mutable_output()->RemoveLast();
  model.proto().mutable_graph()->mutable_output()->RemoveLast();
  auto inputs = list(floats({2}, {1, 2}), tensor<std::int64_t>({}, {2}));
  EXPECT_THAT(run_both(model, std::move(inputs))[0], ElementsAre(3, 22));
}

/// Elman's recurrence h' = h + x[t], over [T, 2], in reverse if asked.
TestModel scanning(bool reversed) {
  TestModel model(13);
  model.input("h0", {2}).input("x", {-1, 2}).output("last").output("all");
  NodeProto& node = model.node("Scan", {"h0", "x"}, {"last", "all"});
  set(node, "num_scan_inputs", std::int64_t{1});
  if (reversed) {
    set(node, "scan_input_directions", std::vector<std::int64_t>{1});
    set(node, "scan_output_directions", std::vector<std::int64_t>{1});
    set(node, "scan_output_axes", std::vector<std::int64_t>{-1});
  }
  GraphProto& body = add_body(node);
  set_ends(body, {"h", "row"}, {"next", "copy"});
  append(body, "Add", {"h", "row"}, "next");
  append(body, "Identity", {"next"}, "copy");
  return model;
}

TEST(Scan, ReadsAndStacksSlices) {
  const auto inputs = [] { return list(floats({2}, {1, 2}), ir::test::counting({3, 2})); };
  const auto y = run_both(scanning(false), inputs());
  EXPECT_THAT(y[0], ElementsAre(7, 11));
  EXPECT_THAT(y[1], ElementsAre(1, 3, 3, 6, 7, 11));
  const auto z = run_both(scanning(true), inputs());
  EXPECT_THAT(z[0], ElementsAre(7, 11));
  EXPECT_THAT(z[1], ElementsAre(7, 7, 5, 11, 10, 7));
}

TEST(Scan, WithStatesMixesSamplesThatItReads) {
  const ir::Graph graph = scanning(false).import();
  const ir::Shape& x = graph.value(graph.inputs()[1]).type.shape;
  EXPECT_TRUE(ir::is_expression(x[0]));
  EXPECT_FALSE(ir::depends_on_batch(x[0]));
}

TEST(Scan, WithoutStatesMapsSamples) {
  TestModel model(13);
  model.input("x", {-1, 2}).output("y");
  NodeProto& node = model.node("Scan", {"x"}, {"y"});
  set(node, "num_scan_inputs", std::int64_t{1});
  GraphProto& body = add_body(node);
  set_ends(body, {"row"}, {"twice"});
  append(body, "Add", {"row", "row"}, "twice");
  const ir::Graph graph = model.import();
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{ir::kBatch, 2}));
  ir::Graph three = graph;
  ir::fill_in_batch(three, 3);
  EXPECT_THAT(run_all(three, list(ir::test::counting({3, 2})))[0], ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Scan, RefusesOtherAttributes) {
  TestModel none = scanning(false);
  none.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0)->set_i(3);
  expect_failure(none, ErrorKind::kFormat, "num_scan_inputs: expected 1 to 2, found 3");
  TestModel direction = scanning(true);
  direction.proto().mutable_graph()->mutable_node(0)->mutable_attribute(1)->set_ints(0, 2);
  expect_failure(direction, ErrorKind::kFormat, "direction of a scan: expected 0 or 1, found 2");
  TestModel axes = scanning(true);
  axes.proto().mutable_graph()->mutable_node(0)->mutable_attribute(3)->clear_ints();
  axes.proto().mutable_graph()->mutable_node(0)->mutable_attribute(3)->set_name("axes");
  EXPECT_NO_THROW((void)axes.import());
  TestModel no_body = scanning(false);
  no_body.proto().mutable_graph()->mutable_node(0)->mutable_attribute()->RemoveLast();
  expect_failure(no_body, ErrorKind::kFormat, "expected a body");
}

/// Iteration t takes the slice x[t : t + 1], and grows the state by it.
TestModel growing() {
  TestModel model;
  model.input("x", {3, 2}).floats("none", {0, 2}, {}).integers("limit", {3}).integers("one", {1});
  model.output("last");
  GraphProto& body = add_body(model.node("Loop", {"limit", "", "none"}, {"last"}));
  set_ends(body, {"t", "go", "s"}, {"go", "joined"});
  append(body, "Reshape", {"t", "one"}, "begin");
  append(body, "Add", {"begin", "one"}, "end");
  TensorProto& axes = *body.add_initializer();
  axes.set_name("axes");
  axes.set_data_type(TensorProto::INT64);
  axes.add_dims(1);
  axes.add_int64_data(0);
  append(body, "Slice", {"x", "begin", "end", "axes"}, "row");
  set(append(body, "Concat", {"row", "s"}, "joined"), "axis", std::int64_t{0});
  return model;
}

TEST(Loop, WhoseShapesFollowTheIterationIsUnrolled) {
  const ir::Graph graph = growing().import();
  EXPECT_FALSE(has_loop(graph));
  EXPECT_THAT(run_all(graph, list(ir::test::counting({3, 2})))[0], ElementsAre(4, 5, 2, 3, 0, 1));
}

TEST(Loop, OfAComputedNumberThatGrowsNamesTheState) {
  TestModel model = growing();
  model.input("count", {}, TensorProto::INT64);
  NodeProto& node = *model.proto().mutable_graph()->mutable_node(0);
  node.set_input(0, "count");
  GraphProto& body = *node.mutable_attribute(0)->mutable_g();
  body.mutable_node()->DeleteSubrange(0, 3);
  body.mutable_node(0)->set_input(0, "x");
  expect_failure(model, ErrorKind::kShape,
                 "state 's' behind an iteration: expected float32[0, 2], found float32[3, 2]");
}

TEST(Loop, RefusesBodiesThatDoNotFit) {
  TestModel endless = summing("", "");
  expect_failure(endless, ErrorKind::kUnsupported, "a loop without an end");
  TestModel inputs = summing("limit", "").integers("limit", {3});
  inputs.proto().mutable_graph()->mutable_node(0)->mutable_attribute(0)->mutable_g()->add_input();
  expect_failure(inputs, ErrorKind::kFormat, "inputs of the body: expected 3, found 4");
  TestModel outputs = summing("limit", "").integers("limit", {3});
  outputs.proto()
      .mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_output()
      ->RemoveLast();
  expect_failure(outputs, ErrorKind::kFormat, "outputs of the body: expected 3, found 2");
  TestModel condition = summing("limit", "s0").integers("limit", {3});
  expect_failure(condition, ErrorKind::kShape, "condition: expected one bool, found float32[2]");
  TestModel missing = summing("limit", "").integers("limit", {3});
  missing.proto()
      .mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(1)
      ->set_input(1, "nowhere");
  expect_failure(missing, ErrorKind::kFormat, "reads 'nowhere', which nothing before it defines");
}

TEST(Loop, NamesUnknownOperatorsOfItsBody) {
  TestModel model = summing("limit", "").integers("limit", {3});
  model.proto()
      .mutable_graph()
      ->mutable_node(0)
      ->mutable_attribute(0)
      ->mutable_g()
      ->mutable_node(1)
      ->set_op_type("Fancy");
  expect_failure(model, ErrorKind::kUnsupported, "operators that are not supported: Fancy ('sum')");
}

}  // namespace
}  // namespace halftone::formats::onnx
