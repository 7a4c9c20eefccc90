// SPDX-License-Identifier: Apache-2.0
// Round trip of every operator through both formats: graph -> bytes -> graph computes the same.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <limits>
#include <string>

#include "halftone/formats/circle/testing.h"
#include "halftone/ir/verify.h"

namespace halftone::formats::circle {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::kBatch;
using ir::ValueId;

struct Case {
  std::string name;
  std::function<ValueId(ir::Graph&, ValueId)> build;  ///< maps the input to the output
  ir::Shape input = {kBatch, 3, 4};
  double low = -2;
  double high = 2;
};

Case unary(ActivationKind kind, float alpha = 0, float beta = 0, double low = -2) {
  const ir::Activation activation{kind, alpha, beta};
  return {
      "Unary" + to_string(activation),
      [=](ir::Graph& graph, ValueId x) { return graph.add_node("y", ir::Unary{activation}, {x}); },
      {kBatch, 3, 4},
      low};
}

Case binary(BinaryKind kind, ActivationKind activation = ActivationKind::kIdentity,
            double low = -2) {
  return {"Binary" + std::string(to_string(kind)) + std::string(to_string(activation)),
          [=](ir::Graph& graph, ValueId x) {
            Random random(5);
            const auto other =
                graph.add_constant("other", ir::test::uniform_tensor({3, 1}, random, 0.5, 2));
            return graph.add_node("y", ir::Binary{kind, {activation, 0, 0}}, {x, other});
          },
          {kBatch, 3, 4},
          low};
}

Case node(const std::string& name, ir::Operator op) {
  return {name, [op](ir::Graph& graph, ValueId x) { return graph.add_node("y", op, {x}); }};
}

Case fully_connected(const std::string& name, ir::Shape input, ir::Activation activation,
                     bool bias) {
  return {
      "FullyConnected" + name,
      [=](ir::Graph& graph, ValueId x) {
        Random random(6);
        std::vector<ValueId> inputs = {x, graph.add_constant("w", random_tensor({5, 4}, random))};
        if (bias) inputs.push_back(graph.add_constant("b", random_tensor({5}, random)));
        return graph.add_node("y", ir::FullyConnected{activation}, inputs);
      },
      std::move(input)};
}

Case matmul(const std::string& name, const ir::Shape& input, const ir::Shape& other, ir::MatMul op,
            bool swapped = false) {
  return {"MatMul" + name,
          [=](ir::Graph& graph, ValueId x) {
            Random random(8);
            const auto b = graph.add_constant("other", random_tensor(other, random));
            return graph.add_node("y", op, swapped ? std::vector{b, x} : std::vector{x, b});
          },
          input};
}

Case concat(std::size_t axis) {
  return {"Concat" + std::to_string(axis), [=](ir::Graph& graph, ValueId x) {
            const auto twice = graph.add_node("twice", ir::Binary{BinaryKind::kAdd, {}}, {x, x});
            return graph.add_node("y", ir::Concat{axis}, {x, twice, x});
          }};
}

std::vector<Case> unary_cases() {
  std::vector<Case> cases;
  for (const auto kind :
       {ActivationKind::kIdentity,  ActivationKind::kRelu,     ActivationKind::kReluN1To1,
        ActivationKind::kRelu6,     ActivationKind::kTanh,     ActivationKind::kSigmoid,
        ActivationKind::kHardSwish, ActivationKind::kSilu,     ActivationKind::kGelu,
        ActivationKind::kGeluTanh,  ActivationKind::kSoftplus, ActivationKind::kSoftsign,
        ActivationKind::kSign,      ActivationKind::kExp,      ActivationKind::kAbs,
        ActivationKind::kNeg,       ActivationKind::kSquare,   ActivationKind::kFloor,
        ActivationKind::kCeil,      ActivationKind::kRound,    ActivationKind::kSin,
        ActivationKind::kCos}) {
    cases.push_back(unary(kind));
  }
  cases.push_back(unary(ActivationKind::kLog, 0, 0, 0.1));
  cases.push_back(unary(ActivationKind::kSqrt, 0, 0, 0));
  cases.push_back(unary(ActivationKind::kReciprocal, 0, 0, 0.1));
  cases.push_back(unary(ActivationKind::kClip, -0.5F, 0.75F));
  constexpr float kOpen = std::numeric_limits<float>::infinity();
  cases.push_back(unary(ActivationKind::kClip, -0.5F, kOpen));
  cases.push_back(unary(ActivationKind::kClip, -kOpen, 0.75F));
  cases.push_back(unary(ActivationKind::kClip, -kOpen, kOpen));
  cases.push_back(unary(ActivationKind::kLeakyRelu, 0.125F));
  cases.push_back(unary(ActivationKind::kElu, 1));
  cases.push_back(unary(ActivationKind::kElu, 0.5F));
  cases.push_back(unary(ActivationKind::kSelu, 1.67326F, 1.0507F));
  cases.push_back(unary(ActivationKind::kCelu, 0.5F));
  cases.push_back(unary(ActivationKind::kHardSigmoid, 0.2F, 0.5F));
  return cases;
}

std::vector<Case> binary_cases() {
  std::vector<Case> cases;
  for (const auto kind : {BinaryKind::kAdd, BinaryKind::kSub, BinaryKind::kMul, BinaryKind::kDiv}) {
    for (const auto activation :
         {ActivationKind::kIdentity, ActivationKind::kRelu, ActivationKind::kReluN1To1,
          ActivationKind::kRelu6, ActivationKind::kTanh, ActivationKind::kSilu}) {
      cases.push_back(binary(kind, activation));
    }
  }
  for (const auto kind : {BinaryKind::kMax, BinaryKind::kMin, BinaryKind::kPRelu}) {
    cases.push_back(binary(kind));
    cases.push_back(binary(kind, ActivationKind::kRelu));
  }
  cases.push_back(binary(BinaryKind::kPow, ActivationKind::kIdentity, 0.1));
  return cases;
}

std::vector<Case> structure_cases() {
  const ir::Activation none;
  return {
      fully_connected("", {kBatch, 4}, none, true),
      fully_connected("NoBias", {kBatch, 4}, none, false),
      fully_connected("Relu6", {kBatch, 4}, {ActivationKind::kRelu6, 0, 0}, true),
      fully_connected("Tanh", {kBatch, 4}, {ActivationKind::kTanh, 0, 0}, true),
      fully_connected("SignBit", {kBatch, 4}, {ActivationKind::kSignBit, 0, 0}, true),
      fully_connected("Selu", {kBatch, 4}, {ActivationKind::kSelu, 1.6F, 1.05F}, true),
      fully_connected("Rank3", {kBatch, 3, 4}, none, true),
      fully_connected("Vector", {4}, none, true),
      matmul("", {kBatch, 3, 4}, {4, 2}, {}),
      matmul("TransposedB", {kBatch, 3, 4}, {2, 4}, {false, true}),
      matmul("TransposedA", {kBatch, 4, 3}, {4, 2}, {true, false}),
      matmul("LeftConstant", {kBatch, 3, 4}, {2, 3}, {}, true),
      matmul("RightVector", {kBatch, 3, 4}, {4}, {}),
      matmul("LeftVector", {4}, {4, 2}, {}),
      node("SoftmaxLast", ir::Softmax{2, 1, false}),
      node("SoftmaxBeta", ir::Softmax{2, 0.5F, false}),
      node("SoftmaxInner", ir::Softmax{1, 2, false}),
      node("LogSoftmax", ir::Softmax{2, 1, true}),
      node("LogSoftmaxBeta", ir::Softmax{2, 0.5F, true}),
      node("LogSoftmaxInnerBeta", ir::Softmax{1, 0.5F, true}),
      node("Reshape", ir::Reshape{{kBatch, 12}}),
      node("ReshapeUp", ir::Reshape{{kBatch, 2, 3, 2}}),
      node("Transpose", ir::Transpose{{0, 2, 1}}),
      node("TransposeBatch", ir::Transpose{{2, 0, 1}}),
      node("Slice", ir::Slice{2, 1, 1, 2}),
      node("SliceOne", ir::Slice{2, 3, -7, 1}),
      node("SliceStep", ir::Slice{2, 0, 2, 2}),
      node("SliceBackwards", ir::Slice{2, 3, -1, 4}),
      node("SliceBackwardsByTwo", ir::Slice{2, 3, -2, 2}),
      node("SliceEmpty", ir::Slice{1, 0, 1, 0}),
      node("CastInt", ir::Cast{ir::ElementType::kInt32}),
      node("CastLong", ir::Cast{ir::ElementType::kInt64}),
      node("CastBool", ir::Cast{ir::ElementType::kBool}),
      node("QuantizeInt8", ir::QuantizeLinear{{{0.25F}, {-3}, 0}, ir::ElementType::kInt8}),
      node("QuantizeUint8", ir::QuantizeLinear{{{0.25F}, {128}, 0}, ir::ElementType::kUint8}),
      node("QuantizeAxis",
           ir::QuantizeLinear{{{0.25F, 0.5F, 1.0F}, {0, 1, 2}, 1}, ir::ElementType::kInt8}),
      concat(1),
      concat(2),
  };
}

Case conv(const std::string& name, ir::Shape input, ir::Shape weights, ir::Conv op) {
  return {"Conv" + name,
          [=](ir::Graph& graph, ValueId x) {
            Random random(9);
            const std::vector<ValueId> inputs = {
                x, graph.add_constant("w", random_tensor(weights, random)),
                graph.add_constant("b", random_tensor({weights[0]}, random))};
            return graph.add_node("y", op, inputs);
          },
          std::move(input)};
}

/// A window with the same strides and pads along all axes.
ir::Window window(std::size_t rank, ir::Dim stride, ir::Dim before, ir::Dim after) {
  ir::Window result = ir::plain_window(rank);
  result.strides.assign(rank, stride);
  result.pads_before.assign(rank, before);
  result.pads_after.assign(rank, after);
  return result;
}

std::vector<Case> window_cases() {
  const ir::Shape image{kBatch, 6, 6, 4};
  const ir::Activation relu{ActivationKind::kRelu, 0, 0};
  const ir::Activation silu{ActivationKind::kSilu, 0, 0};
  std::vector<Case> cases = {
      conv("Plain", image, {5, 3, 3, 4}, {window(2, 1, 0, 0)}),
      conv("Same", image, {5, 3, 3, 4}, {window(2, 1, 1, 1), 1, relu}),
      conv("SameStrided", image, {5, 3, 3, 4}, {window(2, 2, 0, 1)}),
      conv("Padded", image, {5, 3, 3, 4}, {window(2, 1, 2, 0), 1, silu}),
      conv("Depthwise", image, {8, 3, 3, 1}, {window(2, 1, 1, 1), 4}),
      conv("Grouped", image, {6, 3, 3, 2}, {window(2, 1, 1, 1), 2}),
      conv("Line", {kBatch, 6, 4}, {5, 3, 4}, {window(1, 1, 1, 1)}),
  };
  const auto pool = [&](const std::string& name, ir::Pool op, ir::Shape input) {
    cases.push_back({"Pool" + name,
                     [op](ir::Graph& graph, ValueId x) { return graph.add_node("y", op, {x}); },
                     std::move(input)});
  };
  pool("Max", {ir::PoolKind::kMax, {2, 2}, window(2, 2, 0, 0)}, image);
  pool("MaxPadded", {ir::PoolKind::kMax, {3, 3}, window(2, 2, 1, 1)}, image);
  pool("AverageSame", {ir::PoolKind::kAverage, {3, 3}, window(2, 1, 1, 1)}, image);
  pool("AverageCounted", {ir::PoolKind::kAverage, {3, 3}, window(2, 1, 1, 1), true}, image);
  pool("Line", {ir::PoolKind::kMax, {2}, window(1, 2, 0, 0)}, {kBatch, 6, 4});
  return cases;
}

std::vector<Case> extending_cases() {
  return {node("ReduceMean", ir::Reduce{ir::ReduceKind::kMean, {1, 2}, true}),
          node("ReduceSum", ir::Reduce{ir::ReduceKind::kSum, {1}, false}),
          node("ReduceMax", ir::Reduce{ir::ReduceKind::kMax, {2}, false}),
          node("CumSum", ir::CumSum{1}),
          node("CumSumReverse", ir::CumSum{2, true, true}),
          node("Pad", ir::Pad{ir::PadMode::kConstant, {0, 1, 0}, {0, 2, 3}}),
          node("PadReflect", ir::Pad{ir::PadMode::kReflect, {0, 1, 0}, {0, 2, 3}}),
          node("Tile", ir::Tile{{1, 2, 3}}),
          {"Select", [](ir::Graph& graph, ValueId x) {
             const auto zero = graph.add_constant("zero", floats({}, {0}));
             const auto less = graph.add_node("less", ir::Binary{BinaryKind::kLess, {}}, {x, zero});
             return graph.add_node("y", ir::Where{}, {less, zero, x});
           }}};
}

std::vector<Case> all_cases() {
  std::vector<Case> cases = unary_cases();
  for (auto&& each : binary_cases()) cases.push_back(std::move(each));
  for (auto&& each : structure_cases()) cases.push_back(std::move(each));
  for (auto&& each : window_cases()) cases.push_back(std::move(each));
  for (auto&& each : extending_cases()) cases.push_back(std::move(each));
  return cases;
}

ir::Graph build(const Case& each) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, each.input));
  graph.add_output(each.build(graph, x));
  return graph;
}

ir::test::SameFunction inputs_of(const Case& each) {
  const std::size_t batch = each.input.is_static() ? static_cast<std::size_t>(each.input[0]) : 3;
  return {.batch = batch, .low = each.low, .high = each.high};
}

TEST(Operators, ComputeTheSameAfterARoundTripThroughEitherFormat) {
  for (const Case& each : all_cases()) {
    SCOPED_TRACE(each.name);
    const ir::Graph graph = build(each);
    for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
      const ir::Graph back = round_trip(graph, flavor);
      EXPECT_NO_THROW(ir::verify(back));
      expect_same_function(back, graph, inputs_of(each));
      EXPECT_EQ(back.value(back.outputs()[0]).name, "y");
    }
  }
}

TEST(Operators, AreWrittenAgainWithoutChange) {
  for (const Case& each : all_cases()) {
    SCOPED_TRACE(each.name);
    const auto once = export_circle(build(each), CircleFlavor::kTflite);
    const auto twice = export_circle(import_circle(once), CircleFlavor::kTflite);
    EXPECT_EQ(unpacked(twice).subgraphs[0]->operators.size(),
              unpacked(once).subgraphs[0]->operators.size());
    expect_same_function(import_circle(twice), import_circle(once), inputs_of(each));
  }
}

TEST(Operators, QuantizedConstantsBecomeNumbersAgain) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 4}));
  const std::array<std::int8_t, 8> codes = {-128, -3, 0, 5, 127, 1, 2, 3};
  const auto w = graph.add_constant("w", ir::Tensor::from<std::int8_t>({2, 4}, std::span(codes)));
  const std::array<std::int32_t, 2> bias_codes = {1000, -7};
  const auto b =
      graph.add_constant("b", ir::Tensor::from<std::int32_t>({2}, std::span(bias_codes)));
  const auto wf = graph.add_node("wf", ir::DequantizeLinear{{{0.5F, 0.25F}, {0, 1}, 0}}, {w});
  const auto bf = graph.add_node("bf", ir::DequantizeLinear{{{0.001F}, {0}, 0}}, {b});
  graph.add_output(graph.add_node("y", ir::FullyConnected{}, {x, wf, bf}));
  for (const auto flavor : {CircleFlavor::kTflite, CircleFlavor::kCircle}) {
    expect_same_function(round_trip(graph, flavor), graph);
  }
}

TEST(Operators, ScalesFollowTheIntegersThroughLayout) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 2, 6}));
  const ir::AffineParameters affine{{0.125F}, {4}, 0};
  const auto q = graph.add_node("q", ir::QuantizeLinear{affine, ir::ElementType::kInt8}, {x});
  const auto r = graph.add_node("r", ir::Reshape{{kBatch, 12}}, {q});
  const auto s = graph.add_node("s", ir::Slice{1, 2, 1, 5}, {r});
  graph.add_output(graph.add_node("y", ir::DequantizeLinear{affine}, {s}));
  const auto bytes = export_circle(graph, CircleFlavor::kTflite);
  const schema::ModelT model = unpacked(bytes);
  for (const auto& tensor : model.subgraphs[0]->tensors) {
    if (tensor->type != schema::TensorType::INT8) continue;
    ASSERT_NE(tensor->quantization, nullptr) << tensor->name;
    EXPECT_EQ(tensor->quantization->scale, affine.scales);
  }
  expect_same_function(import_circle(bytes), graph);
}

TEST(Operators, WithoutEquivalentAreAllListed) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {kBatch, 4}));
  const auto a = graph.add_node("a", ir::Unary{{ActivationKind::kErf, 0, 0}}, {x});
  const auto b = graph.add_node("b", ir::Unary{{ActivationKind::kThresholded, 1, 0}}, {a});
  const auto c = graph.add_node("c", ir::Unary{{ActivationKind::kSignBit, 0, 0}}, {b});
  graph.add_output(graph.add_node("d", ir::Unary{{ActivationKind::kCelu, -1, 0}}, {c}));
  const Error error = error_of([&] { export_circle(graph, CircleFlavor::kTflite); });
  EXPECT_EQ(error.kind(), ErrorKind::kUnsupported);
  EXPECT_EQ(std::string(error.what()).rfind("cannot be written: ", 0), 0U) << error.what();
  for (const char* name : {"'a' (Erf)", "'b' (ThresholdedRelu)", "'c' (SignBit)",
                           "'d' (Celu): no equivalent operator in the format"}) {
    EXPECT_NE(std::string(error.what()).find(name), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace halftone::formats::circle
