// SPDX-License-Identifier: Apache-2.0
// Operators whose sizes the network computes: imported, exported and read again, run by the
// reference implementation. Expected values are from ONNX's documentation and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/formats/onnx/export.h"
#include "halftone/formats/onnx/import.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/evaluate_graph.h"
#include "halftone/ir/text.h"
#include "halftone/ir/verify.h"

namespace halftone::formats::onnx {
namespace {

using ir::ElementType;
using ir::Shape;
using ir::Tensor;
using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;
using Inputs = std::vector<Tensor>;

template <typename... Tensors>
Inputs inputs(Tensors&&... tensors) {
  Inputs result;
  (result.push_back(std::forward<Tensors>(tensors)), ...);
  return result;
}

Tensor whole(const Shape& shape, const std::vector<std::int64_t>& values) {
  return Tensor::from<std::int64_t>(shape, values);
}

std::vector<float> numbers(const Tensor& tensor) {
  const Tensor floats = tensor.cast(ElementType::kFloat32);
  const auto values = floats.as<float>();
  return {values.begin(), values.end()};
}

/// The outputs of a model, the same after it was written and read again.
std::vector<Tensor> run(const TestModel& model, const Inputs& given) {
  const ir::Graph graph = model.import();
  ir::verify(graph);
  EXPECT_FALSE(graph.definitions().empty());
  std::vector<Tensor> found = ir::evaluate_graph(graph, given);
  const ir::Graph again = import_onnx(export_onnx(graph), {});
  EXPECT_EQ(again.definitions().size(), graph.definitions().size()) << ir::to_text(again);
  const std::vector<Tensor> same = ir::evaluate_graph(again, given);
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(same[i].type(), found[i].type());
    EXPECT_TRUE(std::ranges::equal(same[i].bytes(), found[i].bytes()));
  }
  return found;
}

TEST(ComputedExtents, AreCountsOfWhatIsFound) {
  TestModel model;
  model.input("x", {2, 2}).output("y");
  model.node("NonZero", {"x"}, {"y"});
  const auto some = run(model, inputs(floats({2, 2}, {1, 0, 5, 1})));
  EXPECT_EQ(some[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(numbers(some[0]), (std::vector<float>{0, 1, 1, 0, 0, 1}));
  EXPECT_EQ(run(model, inputs(floats({2, 2}, {0, 0, 0, 0})))[0].shape(), (Shape{2, 0}));
}

TEST(ComputedExtents, OfCompress) {
  TestModel model;
  model.input("x", {3, 2}).input("c", {3}, TensorProto::BOOL).output("y").output("z");
  set(model.node("Compress", {"x", "c"}, {"y"}), "axis", std::int64_t{0});
  model.node("Compress", {"x", "c"}, {"z"});
  const auto found = run(model, inputs(floats({3, 2}, {1, 2, 3, 4, 5, 6}),
                                       whole({3}, {0, 1, 1}).cast(ElementType::kBool)));
  EXPECT_EQ(found[0].shape(), (Shape{2, 2}));
  EXPECT_EQ(numbers(found[0]), (std::vector<float>{3, 4, 5, 6}));
  EXPECT_EQ(numbers(found[1]), (std::vector<float>{2, 3}));
}

TEST(ComputedExtents, OfUnique) {
  TestModel model;
  model.input("x", {6}).output("y").output("first").output("inverse").output("counts");
  model.node("Unique", {"x"}, {"y", "first", "inverse", "counts"});
  // The example of ONNX's documentation, sorted.
  const auto found = run(model, inputs(floats({6}, {2, 1, 1, 3, 4, 3})));
  EXPECT_EQ(numbers(found[0]), (std::vector<float>{1, 2, 3, 4}));
  EXPECT_EQ(numbers(found[1]), (std::vector<float>{1, 0, 3, 4}));
  EXPECT_EQ(numbers(found[2]), (std::vector<float>{1, 0, 0, 2, 3, 2}));
  EXPECT_EQ(numbers(found[3]), (std::vector<float>{2, 1, 2, 1}));
}

TEST(ComputedExtents, OfBoxes) {
  TestModel model;
  model.input("boxes", {1, 4, 4}).input("scores", {1, 1, 4}).output("y");
  model.integers("most", {3}).floats("iou", {1}, {0.5F}).floats("score", {1}, {0.4F});
  model.node("NonMaxSuppression", {"boxes", "scores", "most", "iou", "score"}, {"y"});
  const auto found = run(
      model, inputs(floats({1, 4, 4}, {0, 0, 1, 1, 0, 0.1F, 1, 1.1F, 0, 10, 1, 11, 0, 9, 1, 10}),
                    floats({1, 1, 4}, {0.9F, 0.75F, 0.95F, 0.3F})));
  EXPECT_EQ(found[0].shape(), (Shape{2, 3}));
  EXPECT_EQ(numbers(found[0]), (std::vector<float>{0, 0, 2, 0, 0, 0}));
}

TEST(ComputedExtents, ArePartsOfRequestedShapes) {
  TestModel model;
  model.input("x", {2, 6}).input("s", {2}, TensorProto::INT64).output("y");
  model.node("Reshape", {"x", "s"}, {"y"});
  const Tensor x = floats({2, 6}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11});
  for (const auto& [request, shape] : {std::pair{std::vector<std::int64_t>{3, -1}, Shape{3, 4}},
                                       std::pair{std::vector<std::int64_t>{0, -1}, Shape{2, 6}},
                                       std::pair{std::vector<std::int64_t>{12, 1}, Shape{12, 1}}}) {
    const ir::Graph graph = model.import();
    const auto found = ir::evaluate_graph(graph, inputs(x.clone(), whole({2}, request)));
    EXPECT_EQ(found[0].shape(), shape);
  }
}

TEST(ComputedExtents, OfRangesAndSlices) {
  TestModel model;
  model.input("n", {}, TensorProto::INT64).input("x", {5}).output("r").output("s");
  TensorProto zero;
  zero.set_data_type(TensorProto::INT64);
  zero.add_int64_data(0);
  TensorProto two = zero;
  two.set_int64_data(0, 2);
  model.initializer("zero", zero).initializer("two", two).integers("first", {0});
  model.node("Range", {"zero", "n", "two"}, {"r"});
  model.integers("one", {1});
  model.node("Reshape", {"n", "one"}, {"end"});
  model.node("Slice", {"x", "first", "end"}, {"s"});
  const ir::Graph graph = model.import();
  for (const std::int64_t n : {std::int64_t{3}, std::int64_t{-1}, std::int64_t{9}}) {
    const auto found =
        ir::evaluate_graph(graph, inputs(whole({}, {n}), floats({5}, {0, 1, 2, 3, 4})));
    EXPECT_EQ(found[0].shape(), Shape{n < 0 ? 0 : (n + 1) / 2});
    EXPECT_EQ(found[1].shape(), Shape{n < 0 ? 4 : std::min<std::int64_t>(n, 5)});
  }
}

TEST(ComputedExtents, OfTheBestElements) {
  TestModel model;
  model.input("x", {4}).input("k", {1}, TensorProto::INT64).output("y").output("i");
  model.node("TopK", {"x", "k"}, {"y", "i"});
  const auto found = run(model, inputs(floats({4}, {3, 9, 1, 7}), whole({1}, {2})));
  EXPECT_EQ(numbers(found[0]), (std::vector<float>{9, 7}));
  EXPECT_EQ(numbers(found[1]), (std::vector<float>{1, 3}));
}

TEST(Regions, OfRefusedNodes) {
  TestModel model;
  model.input("x", {1, 1, 4, 4}).input("r", {2, 4}).output("y");
  model.node("MaxRoiPool", {"x", "r"}, {"y"});
  expect_error(ErrorKind::kFormat, "expected two numbers pooled_shape",
               [&] { (void)model.import(); });
  TestModel columns;
  columns.input("x", {1, 1, 4, 4}).input("r", {2, 4}).output("y");
  set(columns.node("MaxRoiPool", {"x", "r"}, {"y"}), "pooled_shape",
      std::vector<std::int64_t>{1, 1});
  expect_error(ErrorKind::kShape, "expected regions [R, 5]", [&] { (void)columns.import(); });
  TestModel open;
  open.input("x", {1, 1, 4}).output("y").output("i");
  auto& pool = open.node("MaxPool", {"x"}, {"y", "i"});
  set(pool, "kernel_shape", std::vector<std::int64_t>{2});
  set(pool, "storage_order", std::int64_t{1});
  expect_error(ErrorKind::kUnsupported, "indices of maxima in an input",
               [&] { (void)open.import(); });
  TestModel unpool;
  unpool.input("x", {1, 1, 2, 2}).input("i", {1, 1, 2, 2}, TensorProto::INT64).output("y");
  unpool.integers("s", {1, 1, 1, 1});
  NodeProto& node = unpool.node("MaxUnpool", {"x", "i", "s"}, {"y"});
  set(node, "kernel_shape", std::vector<std::int64_t>{2, 2});
  set(node, "strides", std::vector<std::int64_t>{2, 2});
  expect_error(ErrorKind::kShape, "output_shape does not fit", [&] { (void)unpool.import(); });
}

}  // namespace
}  // namespace halftone::formats::onnx
