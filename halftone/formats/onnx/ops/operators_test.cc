// SPDX-License-Identifier: Apache-2.0
// Cases that ONNX's own tests do not cover: older operator sets, and the imported operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/formats/onnx/testing.h"
#include "halftone/ir/text.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::NodeProto;
using onnx_pb::TensorProto;
using testing::ElementsAre;
using testing::HasSubstr;

using Vector = std::vector<float>;
using Ints = std::vector<std::int64_t>;

/// One node on x [2, 3] = 1 ... 6 and constants.
struct Case {
  std::string name;
  std::int64_t opset;
  std::string op_type;
  std::vector<std::string> operands;
  std::function<void(TestModel&, NodeProto&)> fill;
  Vector expected;
};

class OneNode : public testing::TestWithParam<Case> {};

TEST_P(OneNode, MatchesTheSpecification) {
  const Case& tested = GetParam();
  TestModel model(tested.opset);
  model.input("x", {-1, 3}).output("y");
  std::vector<std::string> inputs{"x"};
  inputs.insert(inputs.end(), tested.operands.begin(), tested.operands.end());
  NodeProto& node = model.node(tested.op_type, inputs, {"y"});
  if (tested.fill) tested.fill(model, node);
  const auto outputs = run_reference(model.import(), list(floats({2, 3}, {1, -2, 3, 4, 5, -6})));
  const Vector found = numbers(outputs.at(0));
  ASSERT_EQ(found.size(), tested.expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_NEAR(found[i], tested.expected[i], 1e-4) << "element " << i;
  }
}

Vector mapped(const std::function<float(float)>& function) {
  Vector result;
  for (const float x : {1.0F, -2.0F, 3.0F, 4.0F, 5.0F, -6.0F}) result.push_back(function(x));
  return result;
}

INSTANTIATE_TEST_SUITE_P(
    Opsets, OneNode,
    testing::Values(Case{"Selu1", 1, "Selu", {}, nullptr, mapped([](float x) {
                           return 1.0507F * (x < 0 ? 1.6732F * std::expm1(x) : x);
                         })},
                    Case{"Clip6",
                         6,
                         "Clip",
                         {},
                         [](TestModel&, NodeProto& n) { set(n, "max", 2.5F); },
                         mapped([](float x) { return std::min(x, 2.5F); })},
                    Case{"Clip11",
                         11,
                         "Clip",
                         {"low", "high"},
                         [](TestModel& m, NodeProto&) { m.scalar("low", -1).scalar("high", 1); },
                         mapped([](float x) { return std::clamp(x, -1.0F, 1.0F); })},
                    Case{"Mish18", 18, "Mish", {}, nullptr, mapped([](float x) {
                           return x * std::tanh(std::log1p(std::exp(x)));
                         })},
                    Case{"Swish24",
                         24,
                         "Swish",
                         {},
                         [](TestModel&, NodeProto& n) { set(n, "alpha", 0.5F); },
                         mapped([](float x) { return x / (1 + std::exp(-x / 2)); })},
                    Case{"SwishPlain24", 24, "Swish", {}, nullptr, mapped([](float x) {
                           return x / (1 + std::exp(-x));
                         })},
                    Case{"Gelu20", 20, "Gelu", {}, nullptr, mapped([](float x) {
                           return x * (1 + std::erf(x / std::sqrt(2.0F))) / 2;
                         })},
                    Case{"GeluTanh20",
                         20,
                         "Gelu",
                         {},
                         [](TestModel&, NodeProto& n) {
                           set(n, "approximate", std::string("tanh"));
                         },
                         mapped([](float x) {
                           return x * (1 + std::tanh(0.79788456F * (x + 0.044715F * x * x * x))) /
                                  2;
                         })},
                    Case{"AddLinedUp6",
                         6,
                         "Add",
                         {"b"},
                         [](TestModel& m, NodeProto& n) {
                           m.floats("b", {3}, {10, 20, 30});
                           set(n, "broadcast", std::int64_t{1});
                           set(n, "axis", std::int64_t{1});
                         },
                         {11, 18, 33, 14, 25, 24}},
                    Case{"PowInteger",
                         13,
                         "Pow",
                         {"two"},
                         [](TestModel& m, NodeProto&) { m.integers("two", {2}); },
                         mapped([](float x) { return x * x; })},
                    Case{"Reshape1",
                         1,
                         "Reshape",
                         {},
                         [](TestModel&, NodeProto& n) {
                           set(n, "shape", Ints{0, 3, 1});
                         },
                         {1, -2, 3, 4, 5, -6}},
                    Case{"Unsqueeze1",
                         1,
                         "Unsqueeze",
                         {},
                         [](TestModel&, NodeProto& n) { set(n, "axes", Ints{1}); },
                         {1, -2, 3, 4, 5, -6}},
                    Case{"Concat1",
                         1,
                         "Concat",
                         {"x"},
                         nullptr,
                         {1, -2, 3, 1, -2, 3, 4, 5, -6, 4, 5, -6}},
                    Case{"Slice1",
                         1,
                         "Slice",
                         {},
                         [](TestModel&, NodeProto& n) {
                           set(n, "starts", Ints{-2});
                           set(n, "ends", Ints{1000});
                           set(n, "axes", Ints{1});
                         },
                         {-2, 3, 5, -6}},
                    Case{"SliceBackward",
                         13,
                         "Slice",
                         {"b", "e", "a", "s"},
                         [](TestModel& m, NodeProto&) {
                           m.integers("b", {2})
                               .integers("e", {-100})
                               .integers("a", {1})
                               .integers("s", {-2});
                         },
                         {3, 1, -6, 4}},
                    Case{"Cast1",
                         1,
                         "Cast",
                         {},
                         [](TestModel&, NodeProto& n) { set(n, "to", std::string("INT32")); },
                         {1, -2, 3, 4, 5, -6}},
                    Case{"Dropout6", 6, "Dropout", {}, nullptr, {1, -2, 3, 4, 5, -6}},
                    Case{"Softmax11",
                         11,
                         "Softmax",
                         {},
                         [](TestModel&, NodeProto& n) { set(n, "axis", std::int64_t{1}); },
                         {0.1185F, 0.0059F, 0.8756F, 0.26894F, 0.73106F, 0}},
                    Case{"GatherScalar",
                         13,
                         "Gather",
                         {"i"},
                         [](TestModel& m, NodeProto& n) {
                           const std::int64_t last = -1;
                           m.initializer("i", encode_tensor(ir::Tensor::from<std::int64_t>(
                                                  {}, std::span(&last, 1))));
                           set(n, "axis", std::int64_t{1});
                         },
                         {3, -6}},
                    Case{"GatherRow",
                         13,
                         "Gather",
                         {"i"},
                         [](TestModel& m, NodeProto& n) {
                           m.integers("i", {2, 0});
                           set(n, "axis", std::int64_t{1});
                         },
                         {3, 1, -6, 4}},
                    Case{"Expand",
                         13,
                         "Expand",
                         {"s"},
                         [](TestModel& m, NodeProto&) {
                           m.integers("s", {2, 1, 1});
                         },
                         {1, -2, 3, 4, 5, -6, 1, -2, 3, 4, 5, -6}},
                    Case{"BatchNormalization9",
                         9,
                         "BatchNormalization",
                         {"s", "b", "m", "v"},
                         [](TestModel& m, NodeProto& n) {
                           m.floats("s", {3}, {1, 2, 3}).floats("b", {3}, {0, 1, 0});
                           m.floats("m", {3}, {1, 0, 0}).floats("v", {3}, {4, 1, 9});
                           set(n, "epsilon", 0.0F);
                         },
                         {0, -3, 3, 1.5F, 11, -6}},
                    Case{"Quantize10",
                         10,
                         "QuantizeLinear",
                         {"s"},
                         [](TestModel& m, NodeProto&) { m.scalar("s", 2); },
                         {0, 0, 2, 2, 2, 0}},
                    Case{"QuantizeDtype21",
                         21,
                         "QuantizeLinear",
                         {"s"},
                         [](TestModel& m, NodeProto& n) {
                           m.scalar("s", 2);
                           set(n, "output_dtype", std::int64_t{TensorProto::INT8});
                         },
                         {0, -1, 2, 2, 2, -3}}),
    [](const auto& instance) { return instance.param.name; });

TEST(Gemm, WithConstantWeightBecomesOneFullyConnected) {
  for (const bool transposed : {false, true}) {
    TestModel model;
    model.input("x", {-1, 2}).output("y");
    model.floats("w", transposed ? Ints{3, 2} : Ints{2, 3},
                 transposed ? Vector{1, 4, 2, 5, 3, 6} : Vector{1, 2, 3, 4, 5, 6});
    model.floats("c", {1, 3}, {10, 20, 30});
    NodeProto& node = model.node("Gemm", {"x", "w", "c"}, {"y"});
    node.set_name("dense");
    set(node, "transB", std::int64_t{transposed ? 1 : 0});
    set(node, "alpha", 2.0F);
    set(node, "beta", 0.5F);
    const ir::Graph graph = model.import();
    EXPECT_THAT(ir::to_text(graph), HasSubstr("y: float32[N, 3] = FullyConnected(x, w, c)"));
    EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {1, 10})))[0]),
                ElementsAre(2 * 41 + 5, 2 * 52 + 10, 2 * 63 + 15));
  }
}

TEST(Gemm, OfTwoInputsBecomesAMatMul) {
  TestModel model;
  model.input("x", {2, 1}).input("z", {2, 3}).output("y");
  NodeProto& node = model.node("Gemm", {"x", "z"}, {"y"});
  set(node, "transA", std::int64_t{1});
  set(node, "alpha", 3.0F);
  const ir::Graph graph = model.import();
  EXPECT_THAT(ir::to_text(graph), HasSubstr("MatMul"));
  const auto y =
      run_reference(graph, list(floats({2, 1}, {1, 2}), floats({2, 3}, {1, 2, 3, 4, 5, 6})));
  EXPECT_THAT(numbers(y[0]), ElementsAre(27, 36, 45));
}

TEST(Gemm, ThirdOperandThatVariesByRowIsAdded) {
  TestModel model;
  model.input("x", {2, 1}).floats("w", {1, 2}, {1, 2}).floats("c", {2, 1}, {10, 20}).output("y");
  model.node("Gemm", {"x", "w", "c"}, {"y"});
  EXPECT_THAT(numbers(run_reference(model.import(), list(floats({2, 1}, {1, 3})))[0]),
              ElementsAre(11, 12, 23, 26));
}

TEST(MatMul, WeightUsedTwiceIsTransposedOnce) {
  TestModel model;
  model.input("x", {-1, 2}).floats("w", {2, 2}, {1, 2, 3, 4}).output("y");
  model.node("MatMul", {"x", "w"}, {"h"});
  model.node("MatMul", {"h", "w"}, {"y"});
  const ir::Graph graph = model.import();
  const auto nodes = graph.topological_order();
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(graph.node(nodes[0]).inputs[1], graph.node(nodes[1]).inputs[1]);
  EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {1, 1})))[0]), ElementsAre(22, 32));
}

TEST(MatMul, IntegerWeightWithScalesBecomesCodes) {
  TestModel model;
  model.input("x", {-1, 2}).output("y");
  const std::vector<std::int8_t> codes{1, 2, 3, 4, 5, 6};
  model.initializer("w", encode_tensor(ir::Tensor::from<std::int8_t>({2, 3}, codes)));
  model.floats("s", {3}, {1, 10, 100});
  set(model.node("DequantizeLinear", {"w", "s"}, {"wf"}), "axis", std::int64_t{1});
  model.node("MatMul", {"x", "wf"}, {"y"});
  const ir::Graph graph = model.import();
  const std::string text = ir::to_text(graph);
  EXPECT_THAT(text, HasSubstr("int(8 bits, channel)[3, 2]"));
  EXPECT_THAT(text, HasSubstr("FullyConnected(x, wf) arithmetic=float"));
  EXPECT_THAT(numbers(run_reference(graph, list(floats({1, 2}, {1, 1})))[0]),
              ElementsAre(5, 70, 900));
}

TEST(Clip, NamedBoundsBecomeNamedActivations) {
  const std::vector<std::pair<std::pair<float, float>, std::string>> cases{
      {{0, 6}, "Relu6"},
      {{-1, 1}, "ReluN1To1"},
      {{0, std::numeric_limits<float>::infinity()}, "Relu"},
      {{-2, 2}, "Clip"}};
  for (const auto& [bounds, name] : cases) {
    TestModel model;
    model.input("x", {-1, 2}).output("y").scalar("a", bounds.first).scalar("b", bounds.second);
    model.node("Clip", {"x", "a", "b"}, {"y"});
    EXPECT_THAT(ir::to_text(model.import()), HasSubstr("= " + name + "("));
  }
}

TEST(Softmax, BelowOperatorSet13TreatsAllLaterAxesAsOne) {
  TestModel model(11);
  model.input("x", {-1, 2, 2}).output("y");
  model.node("Softmax", {"x"}, {"y"});
  const auto y = run_reference(model.import(), list(floats({1, 2, 2}, {0, 0, 0, 0})));
  EXPECT_EQ(y[0].shape(), (ir::Shape{1, 2, 2}));
  EXPECT_THAT(numbers(y[0]), ElementsAre(0.25F, 0.25F, 0.25F, 0.25F));
}

TEST(PRelu, BelowOperatorSet7HasASlopePerChannel) {
  TestModel model(6);
  model.input("x", {-1, 2, 2}).floats("s", {2}, {10, 100}).output("y");
  model.node("PRelu", {"x", "s"}, {"y"});
  EXPECT_THAT(numbers(run_reference(model.import(), list(floats({1, 2, 2}, {-1, -1, -1, 1})))[0]),
              ElementsAre(-10, -10, -100, 1));
}

TEST(Split, ByNumOutputsLeavesASmallerLastPart) {
  TestModel model(18);
  model.input("x", {-1, 3}).output("b").output("a");
  NodeProto& node = model.node("Split", {"x"}, {"a", "b"});
  set(node, "axis", std::int64_t{1});
  set(node, "num_outputs", std::int64_t{2});
  const auto parts = run_reference(model.import(), list(floats({1, 3}, {1, 2, 3})));
  EXPECT_THAT(numbers(parts[0]), ElementsAre(3));
  EXPECT_THAT(numbers(parts[1]), ElementsAre(1, 2));
}

TEST(Constants, OfAllFormsAreRead) {
  TestModel model;
  model.input("x", {-1, 2}).output("y");
  set(model.node("Constant", {}, {"a"}), "value_float", 2.0F);
  NodeProto& several = model.node("Constant", {}, {"b"});
  auto& attribute_b = *several.add_attribute();
  attribute_b.set_name("value_floats");
  attribute_b.set_type(onnx_pb::AttributeProto::FLOATS);
  attribute_b.add_floats(10);
  attribute_b.add_floats(20);
  set(model.node("Constant", {}, {"c"}), "value_int", std::int64_t{3});
  set(model.node("Constant", {}, {"d"}), "value_ints", Ints{0, 2});
  NodeProto& value = model.node("Constant", {}, {"e"});
  auto& attribute = *value.add_attribute();
  attribute.set_name("value");
  attribute.set_type(onnx_pb::AttributeProto::TENSOR);
  *attribute.mutable_t() = encode_tensor(floats({1}, {100}));
  model.node("Mul", {"x", "a"}, {"x1"});
  model.node("Add", {"x1", "b"}, {"x2"});
  model.node("Pow", {"x2", "c"}, {"x3"});
  model.node("Reshape", {"x3", "d"}, {"x4"});
  model.node("Div", {"x4", "e"}, {"y"});
  EXPECT_THAT(numbers(run_reference(model.import(), list(floats({1, 2}, {0, 5})))[0]),
              ElementsAre(10, 270));
}

/// An operator whose inputs are all constants.
OperatorCase of_constants(const std::string& op_type, std::vector<Operand> inputs) {
  return {op_type, std::move(inputs), {}, "", 17};
}

TEST(MelWeights, AreTrianglesOfASpectrum) {
  // The values are those of ONNX 1.23's reference evaluator.
  const std::int32_t type = TensorProto::INT64;
  const auto mel = [&](std::int64_t length, std::int64_t highest) {
    return of_constants("MelWeightMatrix",
                        {whole({}, {3}, type), whole({}, {length}, type), whole({}, {8000}, type),
                         whole({}, {100}, type), whole({}, {highest}, type)});
  };
  Vector expected(27, 0);
  for (const std::size_t i : {0U, 4U, 11U}) expected[i] = 1;
  for (const std::size_t i : {7U, 8U}) expected[i] = 0.5F;
  EXPECT_EQ(mel(16, 3500).run()[0], expected);
  expect_failure(mel(0, 3500).model(), ErrorKind::kShape, "3 mel filters of 0 points");
  expect_failure(mel(16, 90000).model(), ErrorKind::kShape, "a mel filter beyond the spectrum");
}

TEST(BatchNormalization, TakesTheStatisticsOfWeights) {
  // The values are those of ONNX Runtime 1.32.
  const OperatorCase test{
      "BatchNormalization",
      {pattern({1, 3, 4}, 0), pattern({3}, 1), pattern({3}, 2), pattern({3}, 3), pattern({3}, 6)},
      [](NodeProto& n) { set(n, "training_mode", std::int64_t{1}); },
      "",
      17};
  const Vector expected{0.362604F, -0.00504152F, 0.205042F, -0.162604F, -0.200008F, -0.999944F,
                        0.399944F, -0.399992F,   0.327714F, 0.552604F,  0.424095F,  0.295587F};
  EXPECT_THAT(test.run()[0], testing::Pointwise(testing::FloatNear(2e-6F), expected));
}

TEST(Optionals, AreTensorsOrAbsent) {
  TestModel model(18);
  model.input("x", {2}).output("y").output("here").output("gone");
  model.node("OptionalGetElement", {"x"}, {"y"});
  model.node("OptionalHasElement", {"x"}, {"here"});
  model.node("OptionalHasElement", {""}, {"gone"});
  const auto outputs = run_reference(model.import(), list(floats({2}, {1, 2})));
  EXPECT_THAT(numbers(outputs[0]), ElementsAre(1, 2));
  EXPECT_EQ(numbers(outputs[1].cast(ir::ElementType::kFloat32)), Vector{1});
  EXPECT_EQ(numbers(outputs[2].cast(ir::ElementType::kFloat32)), Vector{0});
}

TEST(NodeNames, CarryOverToLayers) {
  TestModel model;
  model.input("x", {-1, 2}).output("y").floats("w", {2, 2}, {1, 0, 0, 1});
  model.node("Gemm", {"x", "w"}, {"h"}).set_name("fc1");
  model.node("Tanh", {"h"}, {"y"});
  const ir::Graph graph = model.import();
  const auto nodes = graph.topological_order();
  EXPECT_EQ(graph.node(nodes[0]).name, "fc1");
  EXPECT_EQ(graph.node(nodes[1]).name, "y");
  EXPECT_EQ(graph.value(graph.node(nodes[0]).output).name, "h");
}

}  // namespace
}  // namespace halftone::formats::onnx
