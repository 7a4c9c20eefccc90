// SPDX-License-Identifier: Apache-2.0
// The patterns with which exporters compute shapes.
#include "halftone/formats/onnx/integers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/error.h"
#include "halftone/base/testing.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using testing::HasSubstr;

/// x [N, 3, 4] and the integers that the patterns need.
TestModel start() {
  TestModel model;
  model.input("x", {-1, 3, 4}).output("y");
  for (const std::int64_t value : {0, 1, 2}) {
    model.initializer("s" + std::to_string(value),
                      encode_tensor(ir::Tensor::from<std::int64_t>({}, std::span(&value, 1))));
    model.integers("v" + std::to_string(value), {value});
  }
  model.integers("minus", {-1});
  model.node("Shape", {"x"}, {"shape"});
  return model;
}

/// Reshapes x to the named request. Returns the shape of the result, and checks that of all nodes
/// only the Reshape remains.
ir::Shape reshaped(TestModel model, const std::string& request) {
  model.node("Reshape", {"x", request}, {"y"});
  const ir::Graph graph = model.import();
  EXPECT_LE(graph.topological_order().size(), 1U);
  return graph.value(graph.outputs()[0]).type.shape;
}

const ir::Shape kFlat{ir::kBatch, 12};

TEST(ShapeArithmetic, GatherUnsqueezeConcatFlattens) {
  TestModel model = start();
  model.node("Gather", {"shape", "s0"}, {"n"});
  model.node("Unsqueeze", {"n", "v0"}, {"n1"});
  model.node("Concat", {"n1", "minus"}, {"request"}).add_attribute()->set_name("axis");
  auto& axis = *model.proto().mutable_graph()->mutable_node(3)->mutable_attribute(0);
  axis.set_type(onnx_pb::AttributeProto::INT);
  axis.set_i(0);
  EXPECT_EQ(reshaped(model, "request"), kFlat);
}

TEST(ShapeArithmetic, SliceAndProductFlatten) {
  TestModel model = start();
  model.node("Slice", {"shape", "v0", "v1"}, {"n"});
  model.integers("three", {3});
  model.node("Slice", {"shape", "v1", "three"}, {"rest"});
  model.node("ReduceProd", {"rest"}, {"product"});
  set(model.node("Concat", {"n", "product"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), kFlat);
}

TEST(ShapeArithmetic, MultipliesExtents) {
  TestModel model = start();
  model.node("Gather", {"shape", "v1"}, {"a"});
  model.node("Gather", {"shape", "v2"}, {"b"});
  model.node("Mul", {"a", "b"}, {"ab"});
  model.node("Cast", {"ab"}, {"cast"});
  set(*model.proto().mutable_graph()->mutable_node(4), "to", std::int64_t{7});
  model.node("Gather", {"shape", "v0"}, {"n"});
  set(model.node("Concat", {"n", "cast"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), kFlat);
}

TEST(ShapeArithmetic, WholeShapeKeepsTheShape) {
  EXPECT_EQ(reshaped(start(), "shape"), (ir::Shape{ir::kBatch, 3, 4}));
}

TEST(ShapeArithmetic, WhereReplacesOpenExtents) {
  TestModel model = start();
  model.integers("wanted", {-1, 3, 4});
  model.node("Equal", {"wanted", "minus"}, {"open"});
  model.node("Where", {"open", "shape", "wanted"}, {"request"});
  EXPECT_EQ(reshaped(model, "request"), (ir::Shape{ir::kBatch, 3, 4}));
}

TEST(ShapeArithmetic, SqueezeDivideSubtractAndCompare) {
  TestModel model = start();
  model.integers("twelve", {12}).integers("five", {5}).integers("four", {4});
  model.node("Div", {"twelve", "four"}, {"three"});
  model.node("Sub", {"five", "v1"}, {"four2"});
  model.node("Min", {"three", "five"}, {"a"});
  model.node("Max", {"four2", "v0"}, {"b"});
  model.node("Squeeze", {"a", "v0"}, {"a0"});
  model.node("Unsqueeze", {"a0", "v0"}, {"a1"});
  model.node("Add", {"v0", "b"}, {"b1"});
  set(model.node("Concat", {"minus", "b1", "a1"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), (ir::Shape{ir::kBatch, 4, 3}));
}

TEST(ShapeArithmetic, RangeAndFillMakeVectors) {
  TestModel model = start();
  model.node("Range", {"s0", "s2", "s1"}, {"range"});
  model.node("ConstantOfShape", {"v1"}, {"one"});
  auto& value = *model.proto().mutable_graph()->mutable_node(2)->add_attribute();
  value.set_name("value");
  value.set_type(onnx_pb::AttributeProto::TENSOR);
  const std::int64_t twelve = 12;
  *value.mutable_t() = encode_tensor(ir::Tensor::from<std::int64_t>({1}, std::span(&twelve, 1)));
  model.node("Gather", {"range", "v0"}, {"zero"});
  set(model.node("Concat", {"zero", "one"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), kFlat);
}

TEST(ShapeArithmetic, MultiplesOfTheBatchAreKnown) {
  TestModel model = start();
  model.integers("seven", {7});
  model.node("Gather", {"shape", "v0"}, {"n"});
  model.node("Gather", {"shape", "v1"}, {"c"});
  model.node("Mul", {"n", "c"}, {"3n"});
  model.node("Add", {"3n", "n"}, {"4n"});
  model.node("Sub", {"4n", "seven"}, {"4n-7"});
  model.node("Add", {"4n-7", "seven"}, {"again"});
  model.node("Div", {"again", "n"}, {"four"});
  set(model.node("Concat", {"3n", "four"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), (ir::Shape{-3, 4}));
}

TEST(ShapeArithmetic, OpenExtentsTakeMultiplesOfTheBatch) {
  TestModel model = start();
  model.integers("request", {-1, 2});
  EXPECT_EQ(reshaped(model, "request"), (ir::Shape{-6, 2}));
}

TEST(ShapeArithmetic, ComparesExtentsWhoseOrderTheBatchDoesNotChange) {
  TestModel model = start();
  model.integers("four", {4});
  model.node("Gather", {"shape", "v0"}, {"n"});
  model.node("Mul", {"n", "four"}, {"4n"});
  model.node("Max", {"4n", "four"}, {"largest"});       // 4 N
  model.node("Min", {"largest", "v1"}, {"smallest"});   // 1
  model.node("Less", {"smallest", "4n"}, {"is_less"});  // true
  model.node("Where", {"is_less", "4n", "v0"}, {"rows"});
  set(model.node("Concat", {"rows", "minus"}, {"request"}), "axis", std::int64_t{0});
  EXPECT_EQ(reshaped(model, "request"), (ir::Shape{-4, 3}));
}

/// Checks that a model with x [N, 3, 4] is refused where the caller says that N is the batch.
void expect_refused(const TestModel& model, ErrorKind kind, const std::string& text) {
  ImportOptions options;
  options.shapes.emplace("x", ir::Shape{ir::kBatch, 3, 4});
  expect_error(kind, text, [&] { (void)import_onnx(model.bytes(), {}, options); });
}

TEST(ShapeArithmetic, SumsWithTheBatchAreNoExtents) {
  TestModel model = start();
  model.node("Gather", {"shape", "v0"}, {"n"});
  model.node("Add", {"n", "v1"}, {"n+1"});
  set(model.node("Concat", {"n+1", "minus"}, {"request"}), "axis", std::int64_t{0});
  model.node("Reshape", {"x", "request"}, {"y"});
  expect_refused(model, ErrorKind::kUnsupported,
                 "an extent of N + 1, which is neither a number nor a multiple of the batch N");
}

TEST(ShapeArithmetic, SquareOfTheBatchIsNoExtent) {
  TestModel model = start();
  model.node("Gather", {"shape", "v0"}, {"n"});
  model.node("Mul", {"n", "n"}, {"nn"});
  set(model.node("Concat", {"nn", "minus"}, {"request"}), "axis", std::int64_t{0});
  model.node("Reshape", {"x", "request"}, {"y"});
  expect_refused(model, ErrorKind::kUnsupported, "an extent of N*N, which is neither");
}

TEST(ShapeArithmetic, TwoOpenExtentsAreRefused) {
  TestModel model = start();
  model.node("Gather", {"shape", "v0"}, {"n"});
  set(model.node("Concat", {"n", "minus", "minus"}, {"request"}), "axis", std::int64_t{0});
  model.node("Reshape", {"x", "request"}, {"y"});
  ErrorKind kind{};
  EXPECT_THAT(import_failure(model.bytes(), kind),
              HasSubstr("cannot reshape [N, 3, 4] to [N, ?, ?]"));
  EXPECT_EQ(kind, ErrorKind::kShape);
}

TEST(ShapeArithmetic, ExtentsThatDoNotDivideAreRefused) {
  TestModel model = start();
  model.integers("five", {5});
  model.node("Gather", {"shape", "v0"}, {"n"});
  set(model.node("Concat", {"n", "five", "minus"}, {"request"}), "axis", std::int64_t{0});
  model.node("Reshape", {"x", "request"}, {"y"});
  expect_refused(model, ErrorKind::kShape, "cannot reshape [N, 3, 4]");
}

}  // namespace
}  // namespace halftone::formats::onnx
