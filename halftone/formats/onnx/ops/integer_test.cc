// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/error.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using ir::ElementType;
using onnx_pb::TensorProto;

template <typename T>
TensorProto proto(const ir::Shape& shape, const std::vector<T>& values) {
  return encode_tensor(ir::test::tensor<T>(shape, values));
}

ir::Tensor run(const TestModel& model, ir::Tensor x) {
  return std::move(run_reference(model.import(), list(std::move(x)))[0]);
}

TEST(IntegerProducts, MultiplyMatricesWithConstantZeroPoints) {
  TestModel model;
  model.input("x", {-1, 2}, TensorProto::UINT8).output("y");
  model.initializer("w", proto<std::int8_t>({2, 3}, {1, 2, 3, 4, 5, 6}));
  model.initializer("xz", proto<std::uint8_t>({}, {10}));
  model.initializer("wz", proto<std::int8_t>({3}, {0, 1, 2}));
  model.node("MatMulInteger", {"x", "w", "xz", "wz"}, {"y"});
  const ir::Tensor y = run(model, ir::test::tensor<std::uint8_t>({1, 2}, {11, 8}));
  EXPECT_EQ(y.element(), ElementType::kInt32);
  EXPECT_EQ(numbers(y), (std::vector<float>{1 - 8, 1 - 8, 1 - 8}));
}

TEST(IntegerProducts, MultiplyMatricesWithZeroPointsThatAreComputed) {
  TestModel model;
  model.input("x", {-1, 2}, TensorProto::UINT8).input("xz", {1}, TensorProto::UINT8).output("y");
  model.initializer("w", proto<std::int8_t>({2, 1}, {3, -4}));
  model.node("MatMulInteger", {"x", "w", "xz"}, {"y"});
  const auto inputs = list(ir::test::tensor<std::uint8_t>({1, 2}, {11, 8}),
                           ir::test::tensor<std::uint8_t>({1}, {10}));
  const auto y = run_reference(model.import(), inputs);
  EXPECT_EQ(y[0].element(), ElementType::kInt32);
  EXPECT_EQ(numbers(y[0]), (std::vector<float>{3 + 8}));
}

TEST(IntegerProducts, HaveZeroPointsForEachOutputNextToComputedOnes) {
  TestModel model;
  model.input("x", {-1, 2}, TensorProto::UINT8).input("xz", {1}, TensorProto::UINT8).output("y");
  model.initializer("w", proto<std::int8_t>({2, 2}, {3, 1, -4, 2}));
  model.initializer("wz", proto<std::int8_t>({2}, {1, -1}));
  model.node("MatMulInteger", {"x", "w", "xz", "wz"}, {"y"});
  const auto inputs = list(ir::test::tensor<std::uint8_t>({1, 2}, {11, 8}),
                           ir::test::tensor<std::uint8_t>({1}, {10}));
  EXPECT_EQ(numbers(run_reference(model.import(), inputs)[0]), (std::vector<float>{2 + 10, 2 - 6}));
  model.initializer("other", proto<std::int8_t>({3}, {1, -1, 2}));
  model.proto().mutable_graph()->mutable_node(0)->set_input(3, "other");
  expect_failure(model, ErrorKind::kUnsupported,
                 "expected one zero point, or of weights one for each output");
}

TEST(IntegerProducts, ConvolveWithZeroPointsForEachOutput) {
  TestModel model;
  model.input("x", {-1, 1, 2}, TensorProto::UINT8).input("xz", {1}, TensorProto::UINT8);
  model.output("y").initializer("w", proto<std::int8_t>({2, 1, 2}, {3, 1, -4, 2}));
  model.initializer("wz", proto<std::int8_t>({2}, {1, -1}));
  model.node("ConvInteger", {"x", "w", "xz", "wz"}, {"y"});
  const auto inputs = list(ir::test::tensor<std::uint8_t>({1, 1, 2}, {11, 8}),
                           ir::test::tensor<std::uint8_t>({1}, {10}));
  EXPECT_EQ(numbers(run_reference(model.import(), inputs)[0]), (std::vector<float>{2, -3 - 6}));
}

TEST(IntegerProducts, ConvolveAndPadWithTheZeroPoint) {
  TestModel model;
  model.input("x", {-1, 1, 3}, TensorProto::UINT8).output("y");
  model.initializer("w", proto<std::int8_t>({1, 1, 3}, {1, 10, 100}));
  model.initializer("xz", proto<std::uint8_t>({}, {4}));
  auto& node = model.node("ConvInteger", {"x", "w", "xz"}, {"y"});
  set(node, "pads", std::vector<std::int64_t>{1, 1});
  const ir::Tensor y = run(model, ir::test::tensor<std::uint8_t>({1, 1, 3}, {5, 6, 7}));
  EXPECT_EQ(numbers(y), (std::vector<float>{210, 321, 32}));
}

/// y = round(sum / 4) + 1, where sum adds up (x - 10) w.
TestModel linear_model(const std::string& op_type, const std::vector<std::int64_t>& x,
                       TensorProto w) {
  TestModel model;
  model.input("x", x, TensorProto::UINT8).output("y");
  model.scalar("xs", 0.5F).scalar("ws", 0.5F).scalar("ys", 1);
  model.initializer("xz", proto<std::uint8_t>({}, {10}));
  model.initializer("wz", proto<std::int8_t>({}, {0}));
  model.initializer("yz", proto<std::int8_t>({}, {1}));
  model.initializer("w", std::move(w));
  model.node(op_type, {"x", "xs", "xz", "w", "ws", "wz", "ys", "yz"}, {"y"});
  return model;
}

TEST(IntegerProducts, RequantizeToEightBits) {
  const TestModel matmul =
      linear_model("QLinearMatMul", {-1, 2}, proto<std::int8_t>({2, 2}, {2, 100, 4, 127}));
  const ir::Tensor y = run(matmul, ir::test::tensor<std::uint8_t>({1, 2}, {11, 12}));
  EXPECT_EQ(y.element(), ElementType::kInt8);
  EXPECT_EQ(numbers(y), (std::vector<float>{3, 89}));  // 10 / 4 rounds to even, 354 / 4 to 88
  TestModel conv = linear_model("QLinearConv", {-1, 1, 2}, proto<std::int8_t>({2, 1, 1}, {8, -8}));
  conv.initializer("b", proto<std::int32_t>({2}, {40, 0}));
  conv.proto().mutable_graph()->mutable_node(0)->add_input("b");
  const ir::Tensor image = run(conv, ir::test::tensor<std::uint8_t>({1, 1, 2}, {11, 255}));
  EXPECT_EQ(image.shape(), (ir::Shape{1, 2, 2}));
  EXPECT_EQ(numbers(image), (std::vector<float>{13, 127, -1, -128}));
}

TEST(IntegerProducts, RejectUnsupportedNodes) {
  TestModel model;
  model.input("x", {-1, 2}).output("y");
  model.initializer("w", proto<std::int8_t>({2, 1}, {3, -4}));
  model.node("MatMulInteger", {"x", "w"}, {"y"});
  ErrorKind kind{};
  EXPECT_THAT(import_failure(model.bytes(), kind),
              testing::HasSubstr("expected int8 or uint8, found float32[N, 2]"));
  TestModel rows;
  rows.input("x", {2, 2}, TensorProto::UINT8).output("y");
  rows.initializer("w", proto<std::int8_t>({2, 1}, {3, -4}));
  rows.initializer("xz", proto<std::uint8_t>({2}, {1, 2}));
  rows.node("MatMulInteger", {"x", "w", "xz"}, {"y"});
  EXPECT_THAT(import_failure(rows.bytes(), kind),
              testing::HasSubstr("zero points per input row are not supported"));
  EXPECT_EQ(kind, ErrorKind::kUnsupported);
}

}  // namespace
}  // namespace halftone::formats::onnx
