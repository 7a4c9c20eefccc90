// SPDX-License-Identifier: Apache-2.0
// Operators on codes that ONNX Runtime's quantizer and optimizer write, and of ai.onnx.ml. The
// values are those of ONNX Runtime 1.32.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "halftone/formats/onnx/testing.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::FloatNear;
using testing::Pointwise;
using Floats = std::vector<float>;
using Names = std::vector<std::string>;

/// A node of com.microsoft on codes "a".
struct CodeCase {
  std::string op_type;
  Names inputs;
  std::function<void(NodeProto&)> fill{};
  std::vector<int> a = {0, 10, 100, 255};
  std::vector<std::int64_t> shape = {1, 4};
};

TestModel model_of(const CodeCase& test) {
  TestModel model(17);
  auto& domain = *model.proto().add_opset_import();
  domain.set_domain("com.microsoft");
  domain.set_version(1);
  model.input("a", test.shape, TensorProto::UINT8).output("y");
  const auto zero = [&](const std::string& name, int code) {
    model.initializer(name, codes(TensorProto::UINT8, {}, {code}));
  };
  model.initializer("b", codes(TensorProto::UINT8, {1, 4}, {7, 250, 128, 3}));
  model.scalar("as", 0.02F).scalar("bs", 0.5F).scalar("ys", 0.3F).scalar("ps", 1.0F / 256);
  model.scalar("ms", 0.01F).scalar("ls", 0.02F);
  zero("az", 12);
  zero("bz", 128);
  zero("yz", 100);
  zero("pz", 0);
  zero("mz", 3);
  model.initializer("w", codes(TensorProto::INT8, {4, 2}, {3, -4, 5, 100, -128, 7, 1, 2}));
  model.initializer("wt", codes(TensorProto::INT8, {2, 4}, {3, 5, -128, 1, -4, 100, 7, 2}));
  model.initializer("wz", codes(TensorProto::INT8, {}, {0}));
  model.initializer("wzs", codes(TensorProto::INT8, {2}, {0, 0}));
  model.scalar("ws", 0.01F).floats("wss", {2}, {0.01F, 0.02F}).floats("bias", {2}, {0.5F, -0.25F});
  TensorProto sums;
  sums.set_data_type(TensorProto::INT32);
  sums.add_dims(2);
  for (const int number : {1000, -2000}) sums.add_int32_data(number);
  model.initializer("c", sums);
  NodeProto& node = model.node(test.op_type, test.inputs, {"y"});
  node.set_domain("com.microsoft");
  if (test.fill) test.fill(node);
  return model;
}

/// Codes may differ by one where a sum in another order ends between two of them.
void expect_values(const CodeCase& test, const Floats& expected, float tolerance = 0) {
  ir::Tensor a(ir::ElementType::kUint8, ir::Shape(test.shape));
  for (std::size_t i = 0; i < test.a.size(); ++i) {
    a.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(test.a[i]);
  }
  const auto outputs = run_reference(model_of(test).import(), list(std::move(a)));
  const ir::Tensor y = outputs[0].cast(ir::ElementType::kFloat32);
  EXPECT_THAT(Floats(y.as<float>().begin(), y.as<float>().end()),
              Pointwise(FloatNear(tolerance), expected))
      << test.op_type;
}

TEST(QOperators, ComputeWithTheNumbersOfCodes) {
  const Names two = {"a", "as", "az", "b", "bs", "bz", "ys", "yz"};
  expect_values({"QLinearAdd", two}, {0, 255, 106, 0});
  expect_values({"QLinearMul", two}, {148, 92, 100, 0});
  const auto axis = [](NodeProto& node) { set(node, "axis", std::int64_t{1}); };
  expect_values({"QLinearConcat", {"ys", "yz", "a", "as", "az", "b", "bs", "bz"}, axis},
                {99, 100, 106, 116, 0, 255, 100, 0});
  expect_values({"QLinearLeakyRelu",
                 {"a", "bs", "bz", "ys", "yz"},
                 [](NodeProto& node) { set(node, "alpha", 0.1F); }},
                {79, 80, 95, 255});
  const Names one = {"a", "as", "bz", "ps", "pz"};
  expect_values({"QLinearSigmoid", one}, {18, 22, 93, 237});
  expect_values({"QLinearSoftmax", one,
                 [](NodeProto& node) {
                   set(node, "axis", std::int64_t{-1});
                   set(node, "opset", std::int64_t{13});
                 }},
                {1, 2, 11, 242});
}

TEST(QOperators, PoolImagesOfEitherOrder) {
  std::vector<int> image = counted(16, 0);
  for (int& code : image) code *= 16;
  const auto window = [](NodeProto& node) {
    set(node, "kernel_shape", std::vector<std::int64_t>{3, 3});
    set(node, "pads", std::vector<std::int64_t>{1, 1, 1, 1});
  };
  expect_values({"QLinearAveragePool", {"a", "as", "az", "ys", "yz"}, window, image, {1, 1, 4, 4}},
                {102, 102, 103, 104, 104, 105, 106, 106, 108, 109, 110, 110, 110, 111, 112, 113});
  expect_values(
      {"QLinearGlobalAveragePool", {"a", "as", "az", "ms", "mz"}, {}, image, {1, 1, 4, 4}}, {219});
  std::vector<int> last = counted(8, 0);
  for (int& code : last) code *= 30;
  const auto channels = [](NodeProto& node) { set(node, "channels_last", std::int64_t{1}); };
  expect_values(
      {"QLinearGlobalAveragePool", {"a", "as", "az", "ls", "mz"}, channels, last, {1, 2, 2, 2}},
      {81, 111});
}

TEST(QOperators, CountAllTapsBehindPadding) {
  const auto window = [](NodeProto& node) {
    set(node, "kernel_shape", std::vector<std::int64_t>{2, 2});
    set(node, "strides", std::vector<std::int64_t>{2, 2});
    set(node, "pads", std::vector<std::int64_t>{1, 1, 0, 0});
    set(node, "ceil_mode", std::int64_t{1});
    set(node, "count_include_pad", std::int64_t{1});
  };
  CodeCase test{"QLinearAveragePool", {"a", "as", "az", "ms", "mz"}, window};
  test.shape = {1, 1, 2, 2};
  expect_values(test, {0, 2, 47, 124});
  CodeCase largest{"NhwcMaxPool", {"a"}, [](NodeProto& node) {
                     set(node, "kernel_shape", std::vector<std::int64_t>{2, 1});
                   }};
  largest.shape = {1, 2, 2, 1};
  expect_values(largest, {100, 255});
}

TEST(QOperators, MultiplyIntegers) {
  expect_values({"QGemm", {"a", "as", "az", "w", "ws", "wz", "c", "ys", "yz"}}, {93, 99});
  const auto turned = [](NodeProto& node) { set(node, "transB", std::int64_t{1}); };
  expect_values({"QGemm", {"a", "as", "az", "wt", "wss", "wzs", "c"}, turned}, {-2.0134F, -0.42F},
                1e-5F);
  expect_values({"MatMulIntegerToFloat", {"a", "w", "as", "wss", "az", "wzs", "bias"}},
                {-1.7134F, 0.13F}, 1e-5F);
}

TEST(QOperators, RejectWhatTheyCannotBe) {
  expect_failure(model_of({"QLinearConcat", {"ys", "yz", "a", "as"}}), ErrorKind::kFormat,
                 "three inputs for each part");
  const auto channels = [](NodeProto& node) { set(node, "channels_last", std::int64_t{1}); };
  expect_failure(model_of({"QLinearGlobalAveragePool", {"a", "as", "az", "ys", "yz"}, channels}),
                 ErrorKind::kShape, "channels_last: expected an image");
  expect_failure(model_of({"NhwcMaxPool", {"a"}}), ErrorKind::kShape, "expected an image");
  expect_failure(model_of({"QGemm", {"a", "as", "az", "w", "ws", "wz", "ys", "ys", "yz"}}),
                 ErrorKind::kUnsupported, "expected a bias for each output");
}

TEST(QOperators, RoundTheInputOfADynamicProduct) {
  TestModel model = model_of({"DynamicQuantizeMatMul", {"x", "w", "wss", "wzs", "bias"}});
  model.proto().mutable_graph()->clear_input();
  model.input("x", {1, 4});
  const auto y = run_reference(model.import(), list(floats({1, 4}, {-1, 0.5F, 2, 3})));
  EXPECT_THAT(numbers(y[0]), Pointwise(FloatNear(1e-4F), Floats{-2.02502F, 1.23298F}));
}

TEST(QuantizeLinear, RoundsTo16Bits) {
  const auto found = [](std::int32_t type, int zero) {
    TestModel model(21);
    model.input("x", {1, 5}).output("y").scalar("s", 0.5F);
    TensorProto z;
    z.set_data_type(type);
    z.add_int32_data(zero);
    model.initializer("z", z);
    model.node("QuantizeLinear", {"x", "s", "z"}, {"q"});
    model.node("DequantizeLinear", {"q", "s", "z"}, {"y"});
    return numbers(run_reference(model.import(),
                                 list(floats({1, 5}, {-40000, -1.5F, 0.00061F, 2.5F, 1e6F})))[0]);
  };
  EXPECT_EQ(found(TensorProto::UINT16, 1000), (Floats{-500, -1.5F, 0, 2.5F, 32267.5F}));
  EXPECT_EQ(found(TensorProto::INT16, -5), (Floats{-16381.5F, -1.5F, 0, 2.5F, 16386}));
}

TEST(DequantizeLinear, Takes16BitWeightsOfEveryRow) {
  TestModel model(21);
  model.input("x", {-1, 2}).output("y").floats("s", {2}, {0.5F, 0.25F});
  TensorProto w;
  w.set_data_type(TensorProto::INT16);
  for (int i = 0; i < 2; ++i) w.add_dims(2);
  for (const int code : {1000, -2000, 3000, 4000}) w.add_int32_data(code);
  model.initializer("w", w);
  set(model.node("DequantizeLinear", {"w", "s"}, {"f"}), "axis", std::int64_t{0});
  model.node("MatMul", {"x", "f"}, {"y"});
  const auto y = run_reference(model.import(), list(floats({2, 2}, {1, 0, 0, 1})));
  EXPECT_EQ(numbers(y[0]), (Floats{500, -1000, 750, 1000}));
}

/// A node of ai.onnx.ml on three rows.
Floats ml_result(const std::string& op_type, const std::function<void(NodeProto&)>& fill) {
  TestModel model(17);
  auto& domain = *model.proto().add_opset_import();
  domain.set_domain("ai.onnx.ml");
  domain.set_version(1);
  model.input("x", {-1, 3}).output("y");
  NodeProto& node = model.node(op_type, {"x"}, {"y"});
  node.set_domain("ai.onnx.ml");
  fill(node);
  const ir::Tensor x = floats({3, 3}, {1, -4, 3, 0, 0, 0, -1, -2, -3});
  return numbers(run_reference(model.import(), list(x.clone()))[0]);
}

void set_floats(NodeProto& node, const std::string& name, const Floats& values) {
  auto& attribute = *node.add_attribute();
  attribute.set_name(name);
  attribute.set_type(onnx_pb::AttributeProto::FLOATS);
  for (const float value : values) attribute.add_floats(value);
}

TEST(MlOperators, ScaleFeatures) {
  const auto scaler = ml_result("Scaler", [](NodeProto& node) {
    set_floats(node, "offset", {1, 2, 3});
    set_floats(node, "scale", {0.5F, 2, 1});
  });
  EXPECT_EQ(scaler, (Floats{0, -12, 0, -0.5F, -4, -3, -1, -8, -6}));
  const auto binary = ml_result("Binarizer", [](NodeProto& node) { set(node, "threshold", 0.5F); });
  EXPECT_EQ(binary, (Floats{1, 0, 1, 0, 0, 0, 0, 0, 0}));
}

TEST(MlOperators, NormalizeRows) {
  const std::pair<const char*, Floats> cases[] = {
      {"MAX", {0.33333F, -1.33333F, 1, 0, 0, 0, 1, 2, 3}},
      {"L1", {0.125F, -0.5F, 0.375F, 0, 0, 0, -0.16667F, -0.33333F, -0.5F}},
      {"L2", {0.19612F, -0.78446F, 0.58835F, 0, 0, 0, -0.26726F, -0.53452F, -0.80178F}}};
  for (const auto& [norm, expected] : cases) {
    const auto found = ml_result(
        "Normalizer", [name = norm](NodeProto& node) { set(node, "norm", std::string(name)); });
    EXPECT_THAT(found, Pointwise(FloatNear(1e-5F), expected)) << norm;
  }
}

TEST(MlOperators, RejectScalesOfOtherFeatures) {
  ir::test::expect_error(ErrorKind::kShape, "one for each feature", [] {
    ml_result("Scaler", [](NodeProto& node) { set_floats(node, "offset", {1, 2}); });
  });
}

}  // namespace
}  // namespace halftone::formats::onnx
