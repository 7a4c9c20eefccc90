// SPDX-License-Identifier: Apache-2.0
// Integers, codes, pools, functions and copies on a device have the bytes of runtime/.
#include <gtest/gtest.h>

#include "halftone/gpu/network/testing.h"

namespace halftone::gpu {
namespace {

using CodesOnDevice = OnStepDevice;
using ir::ElementType;
using ir::kBatch;
using ir::Shape;

struct IntegerCase {
  ir::Operator op;
  Shape x;
  Shape w;
};

ir::Conv integer_conv(std::size_t rank, ir::Dim pad, ir::Dim stride, ir::Dim dilation,
                      ir::Dim groups) {
  ir::Conv op{ir::plain_window(rank), groups};
  op.window.pads_before.assign(rank, pad);
  op.window.pads_after.assign(rank, pad);
  op.window.strides.assign(rank, stride);
  op.window.dilations.assign(rank, dilation);
  op.zero_points = {7, {4}};
  return op;
}

std::vector<IntegerCase> integer_cases() {
  const ir::Dim n = kBatch;
  return {{ir::FullyConnected{{}, {7, {5}}}, {n, 2, 35}, {19, 35}},
          {ir::FullyConnected{{}, {7, {}}}, {n, 64}, {32, 64}},
          {integer_conv(2, 1, 1, 1, 1), {n, 7, 9, 3}, {5, 3, 3, 3}},
          {integer_conv(2, 1, 2, 1, 1), {n, 9, 9, 16}, {70, 3, 3, 16}},
          {integer_conv(2, 2, 1, 2, 1), {n, 6, 6, 4}, {8, 3, 3, 4}},
          {integer_conv(2, 0, 1, 1, 1), {n, 5, 5, 8}, {9, 1, 1, 8}},
          {integer_conv(2, 1, 1, 1, 2), {n, 5, 6, 6}, {8, 3, 2, 3}},
          {integer_conv(1, 1, 1, 1, 1), {n, 11, 5}, {6, 3, 5}},
          {integer_conv(3, 1, 1, 1, 1), {n, 3, 4, 3, 2}, {4, 2, 2, 2, 2}},
          {integer_conv(2, 1, 1, 1, 20), {n, 6, 6, 20}, {20, 3, 3, 1}},
          {integer_conv(2, 1, 2, 1, 5), {n, 6, 6, 5}, {15, 3, 3, 1}}};
}

ir::Graph integer_graph(const IntegerCase& layer, ElementType x_element, ElementType w_element) {
  Random random(61);
  const bool is_signed = w_element == ElementType::kInt8;
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(x_element, layer.x));
  const auto w = graph.add_constant(
      "w", ir::test::uniform_tensor(layer.w, random, is_signed ? -128 : 0, is_signed ? 128 : 256)
               .cast(w_element));
  const auto bias = graph.add_constant(
      "b", ir::test::uniform_tensor({layer.w[0]}, random, -1e5, 1e5).cast(ElementType::kInt32));
  graph.add_output(graph.add_node("layer", layer.op, {x, w, bias}));
  return graph;
}

TEST_F(CodesOnDevice, IntegerLayersAreExact) {
  for (const IntegerCase& layer : integer_cases()) {
    for (const auto x : {ElementType::kInt8, ElementType::kUint8}) {
      for (const auto w : {ElementType::kInt8, ElementType::kUint8}) {
        SCOPED_TRACE(layer.x.to_string());
        expect_on_device(integer_graph(layer, x, w), 1);
      }
    }
    expect_on_device(integer_graph(layer, ElementType::kInt8, ElementType::kInt8), 7);
  }
}

TEST_F(CodesOnDevice, SumsBecomeCodesInTheStepOfTheLayer) {
  for (const IntegerCase& layer : integer_cases()) {
    for (const auto rounding :
         {ir::CodeRounding::kHalfEven, ir::CodeRounding::kHalfAway, ir::CodeRounding::kTwice}) {
      ir::Requantize op{{}, 3, ElementType::kInt8, -100, 127, rounding};
      for (ir::Dim o = 0; o < layer.w[0]; ++o) {
        op.multipliers.push_back(0.001 + 0.0001 * static_cast<double>(o));
      }
      ir::Graph graph = integer_graph(layer, ElementType::kInt8, ElementType::kInt8);
      graph.set_outputs({graph.add_node("codes", op, {graph.outputs()[0]})});
      expect_on_device(graph, 3);
    }
  }
}

/// One operator on one input.
ir::Graph graph_of(const ir::Operator& op, const ir::ValueType& type) {
  ir::Graph graph;
  const auto x = graph.add_input("x", type);
  graph.add_output(graph.add_node("y", op, {x}));
  return graph;
}

void expect_op(const ir::Operator& op, ElementType element, const Shape& shape) {
  SCOPED_TRACE(std::string(ir::name_of(op)) + " " + ir::attributes_of(op) + " of " +
               shape.to_string());
  OnStepDevice::expect_beside_layer(graph_of(op, ir::dense_type(element, shape)), 3);
}

TEST_F(CodesOnDevice, ConversionsHaveTheBytesOfTheProcessor) {
  using enum ElementType;
  for (const auto rounding :
       {ir::CodeRounding::kHalfEven, ir::CodeRounding::kHalfAway, ir::CodeRounding::kTwice}) {
    for (const auto element : {kInt8, kUint8}) {
      const auto [low, high] = ir::code_range(element);
      ir::Requantize op{{0.0005}, 3, element, low, high, rounding};
      expect_op(op, kInt32, {kBatch, 40, 3});
      op.multipliers = {1e-4, 0.5, 3};
      expect_op(op, kInt32, {kBatch, 40, 3});
      if (rounding != ir::CodeRounding::kTwice) {
        expect_op(ir::QuantizeLinear{{{0.03F}, {5}, 0}, element, rounding}, kFloat32,
                  {kBatch, 131});
      }
    }
  }
  for (const auto element : {kInt8, kUint8, kInt32}) {
    expect_op(ir::DequantizeLinear{{{0.3F}, {5}, 0}}, element, {kBatch, 5, 4});
    expect_op(ir::DequantizeLinear{{{1, 2, 3, 4}, {0, 1, 2, 3}, 2}}, element, {kBatch, 5, 4});
  }
  Random random(68);
  for (const auto from : {kInt8, kUint8}) {
    for (const auto to : {kInt8, kUint8, kInt32}) {
      const double low = to == kInt8 ? -128 : 0;
      const double high = to == kInt32 ? 1e6 : low + 256;
      const ir::Tensor table = ir::test::uniform_tensor({256}, random, low, high).cast(kInt32);
      expect_op(ir::Lookup{to, ir::test::elements<std::int32_t>(table)}, from, {kBatch, 100});
    }
    expect_op(ir::Softmax{1, 0.07F}, from, {kBatch, 40});
  }
}

TEST_F(CodesOnDevice, EncodingsHaveTheBytesOfTheProcessor) {
  for (int bits = 1; bits <= 8; ++bits) {
    Random random(static_cast<std::uint64_t>(bits));
    for (const ir::Dim cols : {1, 31, 32, 33, 64, 65, 200}) {
      ir::Graph graph;
      const auto x = graph.add_input("x", ir::test::float_type({kBatch, cols}));
      const auto encoding = runtime::testing::activation_encoding(bits, true, random);
      graph.add_output(graph.add_node("y", ir::Encode{encoding}, {x}));
      SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(cols));
      expect_beside_layer(std::move(graph), 7);
    }
  }
}

TEST_F(CodesOnDevice, PoolsHaveTheBytesOfTheProcessor) {
  ir::Pool op{ir::PoolKind::kMax, {3, 2}, ir::plain_window(2)};
  op.window.strides = {2, 2};
  op.window.pads_before = op.window.pads_after = {1, 1};
  for (const auto kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    op.kind = kind;
    for (const auto element : {ElementType::kInt8, ElementType::kUint8, ElementType::kFloat32}) {
      expect_op(op, element, {kBatch, 7, 6, 19});
    }
  }
  op.count_padding = true;
  expect_op(op, ElementType::kFloat32, {kBatch, 7, 6, 19});
}

TEST_F(CodesOnDevice, CopiesHaveTheBytesOfTheProcessor) {
  const std::pair<ir::Operator, Shape> cases[] = {
      {ir::Transpose{{0, 2, 3, 1}}, {kBatch, 3, 5, 7}},
      {ir::Transpose{{2, 1, 0}}, {17, 18, 19}},
      {ir::Slice{1, 5, -2, 3}, {kBatch, 7, 3}},
      {ir::Slice{2, 1, 1, 40}, {kBatch, 3, 50}},
      {ir::BroadcastTo{{kBatch, 4, 5, 6}}, {5, 1}},
      {ir::Tile{{1, 2, 3}}, {kBatch, 5, 7}},
      {ir::Pad{ir::PadMode::kConstant, {0, 1, 2}, {0, 3, 0}}, {kBatch, 5, 7}}};
  for (const auto& [op, shape] : cases) {
    for (const auto element : {ElementType::kFloat32, ElementType::kInt8, ElementType::kInt32}) {
      expect_op(op, element, shape);
    }
  }
  for (const auto element : {ElementType::kFloat32, ElementType::kUint8}) {
    ir::Graph graph;
    const auto a = graph.add_input("a", ir::dense_type(element, {kBatch, 3, 9}));
    const auto b = graph.add_input("b", ir::dense_type(element, {kBatch, 1, 9}));
    const auto joined = graph.add_node("joined", ir::Concat{1}, {a, b, a});
    const ir::Pad pad{ir::PadMode::kConstant, {0, 1, 0}, {0, 2, 1}};
    const auto value = graph.add_input("value", ir::dense_type(element, Shape{}));
    graph.add_output(graph.add_node("y", pad, {joined, value}));
    expect_beside_layer(std::move(graph), 2);
  }
}

TEST_F(CodesOnDevice, FunctionsHaveTheBytesOfTheProcessor) {
  using enum ir::ActivationKind;
  const ir::Activation functions[] = {{kRelu},
                                      {kReluN1To1},
                                      {kRelu6},
                                      {kTanh},
                                      {kSigmoid},
                                      {kExp},
                                      {kSilu},
                                      {kGelu},
                                      {kGeluTanh},
                                      {kHardSwish},
                                      {kLeakyRelu, 0.3F},
                                      {kClip, -0.5F, 0.25F},
                                      {kAbs},
                                      {kHardSigmoid, 0.2F, 0.5F},
                                      {kNeg}};
  for (const ir::Activation& each : functions) {
    expect_op(ir::Unary{each}, ElementType::kFloat32, {kBatch, 3, 777});
  }
  expect_op(ir::Softmax{2}, ElementType::kFloat32, {kBatch, 3, 77});
  expect_op(ir::Normalize{{2}}, ElementType::kFloat32, {kBatch, 3, 77});
  expect_op(ir::Normalize{{1, 2}, 1e-3F, false}, ElementType::kFloat32, {kBatch, 3, 77});
  for (const auto kind : {ir::ReduceKind::kSum, ir::ReduceKind::kMean}) {
    expect_op(ir::Reduce{kind, {1, 2}, false}, ElementType::kFloat32, {kBatch, 5, 7, 19});
    expect_op(ir::Reduce{kind, {2}, true}, ElementType::kFloat32, {kBatch, 5, 77});
  }
}

TEST_F(CodesOnDevice, PairsHaveTheBytesOfTheProcessor) {
  using enum ir::BinaryKind;
  const ir::Activation relu{ir::ActivationKind::kRelu};
  for (const auto kind : {kAdd, kSub, kMul, kDiv, kMax, kMin, kPRelu}) {
    for (const Shape& shape : {Shape{kBatch, 5, 6}, Shape{6}, Shape{kBatch, 1, 6}, Shape{5, 1},
                               Shape{kBatch, 1, 1}, Shape{}}) {
      ir::Graph graph;
      const auto a = graph.add_input("a", ir::test::float_type({kBatch, 5, 6}));
      const auto b = graph.add_input("b", ir::test::float_type(shape));
      graph.add_output(graph.add_node("y", ir::Binary{kind, {}}, {a, b}));
      graph.add_output(graph.add_node("z", ir::Binary{kind, relu}, {b, a}));
      SCOPED_TRACE(shape.to_string());
      expect_beside_layer(std::move(graph), 2);
    }
  }
}

TEST_F(CodesOnDevice, PairsOfCodesHaveTheBytesOfTheProcessor) {
  using enum ir::BinaryKind;
  for (const auto kind : {kAdd, kSub, kMul}) {
    for (const auto element : {ElementType::kInt8, ElementType::kUint8}) {
      ir::Graph graph;
      const auto a = graph.add_input("a", ir::dense_type(element, {2, 5, 6}));
      const auto b = graph.add_input("b", ir::dense_type(element, {2, 1, 6}));
      const auto x = graph.add_node("x", ir::DequantizeLinear{{{0.07F}, {3}, 0}}, {a});
      const auto y = graph.add_node("y", ir::DequantizeLinear{{{0.11F}, {9}, 0}}, {b});
      const ir::Activation relu{ir::ActivationKind::kRelu};
      const auto sum = graph.add_node("sum", ir::Binary{kind, relu}, {x, y});
      graph.add_output(graph.add_node("q", ir::QuantizeLinear{{{0.09F}, {20}, 0}, element}, {sum}));
      expect_beside_layer(std::move(graph), 1);
    }
    const auto integers = [](std::int32_t factor) {
      ir::Lookup lookup{ElementType::kInt32, {}};
      for (std::int32_t q = 0; q < 256; ++q) lookup.table.push_back(factor * (q - 100));
      return lookup;
    };
    ir::Graph graph;
    const auto a = graph.add_input("a", ir::dense_type(ElementType::kInt8, {3, 40, 32}));
    const auto b = graph.add_input("b", ir::dense_type(ElementType::kUint8, {3, 1, 32}));
    const auto x = graph.add_node("x", integers(300), {a});
    const auto y = graph.add_node("y", integers(-171), {b});
    const auto sum = graph.add_node("sum", ir::Binary{kind, {}}, {x, y});
    const ir::Requantize back{{kind == kMul ? 1e-7 : 2e-3}, 3, ElementType::kInt8, -120, 127,
                              ir::CodeRounding::kTwice};
    graph.add_output(graph.add_node("q", back, {sum}));
    expect_beside_layer(std::move(graph), 1);
  }
}

}  // namespace
}  // namespace halftone::gpu
