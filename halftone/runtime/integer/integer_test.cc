// SPDX-License-Identifier: Apache-2.0
// Integer products and conversions give exactly the results of the reference implementation.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "halftone/base/parallel.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ElementType;
using ir::Shape;

/// Codes over the whole range of their type.
ir::Tensor random_codes(ElementType element, const Shape& shape, Random& random) {
  const bool is_signed = element == ElementType::kInt8;
  return ir::test::uniform_tensor(shape, random, is_signed ? -128 : 0, is_signed ? 128 : 256)
      .cast(element);
}

struct IntegerLayer {
  ir::Operator op;
  Shape x;
  Shape w;
  ElementType x_element = ElementType::kInt8;
  ElementType w_element = ElementType::kInt8;
  bool bias = true;
};

ir::Graph graph_of(const IntegerLayer& layer) {
  Random random(61);
  ir::Graph graph;
  std::vector<ir::ValueId> inputs = {
      graph.add_input("x", ir::dense_type(layer.x_element, layer.x)),
      graph.add_constant("w", random_codes(layer.w_element, layer.w, random))};
  if (layer.bias) {
    const Shape shape{layer.w[0]};
    inputs.push_back(graph.add_constant(
        "b", ir::test::uniform_tensor(shape, random, -1e5, 1e5).cast(ElementType::kInt32)));
  }
  graph.add_output(graph.add_node("layer", layer.op, inputs));
  return graph;
}

void expect_exact(const IntegerLayer& layer) {
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}}) {
    Random random(62);
    const auto plan = make_plan(graph_of(layer), {.batch = batch});
    EXPECT_EQ(plan->steps().back().kernel, "integers");
    Session session(plan);
    const Shape shape = layer.x.with_batch(batch);
    const auto inputs = ir::test::list(random_codes(layer.x_element, shape, random));
    const ir::Graph whole = prepare(graph_of(layer), {.batch = batch}).graph;
    EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(whole, inputs)))
        << ir::attributes_of(layer.op) << " on " << layer.x.to_string();
  }
}

TEST(IntegerFullyConnected, MatchesReference) {
  for (const auto x : {ElementType::kInt8, ElementType::kUint8}) {
    for (const auto w : {ElementType::kInt8, ElementType::kUint8}) {
      const std::int32_t low = x == ElementType::kInt8 ? -7 : 7;
      for (const ir::Dim n : {1, 16, 35}) {
        const Shape input{ir::kBatch, 2, n};
        expect_exact({ir::FullyConnected{{}, {low, {5}}}, input, {19, n}, x, w, n != 16});
        expect_exact({ir::FullyConnected{}, input, {70, n}, x, w});
      }
    }
  }
  std::vector<std::int32_t> zeros(19);
  for (std::size_t o = 0; o < zeros.size(); ++o) zeros[o] = static_cast<std::int32_t>(o) - 9;
  expect_exact({ir::FullyConnected{{}, {3, zeros}}, {ir::kBatch, 40}, {19, 40}});
}

ir::Conv conv(std::size_t rank, ir::Dim pad, ir::Dim stride, ir::Dim dilation, ir::Dim groups) {
  ir::Conv op{ir::plain_window(rank), groups};
  op.window.pads_before.assign(rank, pad);
  op.window.pads_after.assign(rank, pad);
  op.window.strides.assign(rank, stride);
  op.window.dilations.assign(rank, dilation);
  op.zero_points = {-11, {4}};
  return op;
}

TEST(IntegerConv, MatchesReference) {
  const ir::Dim n = ir::kBatch;
  expect_exact({conv(2, 1, 1, 1, 1), {n, 7, 9, 3}, {5, 3, 3, 3}});
  expect_exact({conv(2, 1, 2, 1, 1), {n, 9, 9, 16}, {70, 3, 3, 16}});
  expect_exact({conv(2, 2, 1, 2, 1), {n, 6, 6, 4}, {8, 3, 3, 4}});
  expect_exact({conv(2, 0, 1, 1, 1), {n, 5, 5, 8}, {9, 1, 1, 8}});
  expect_exact({conv(2, 0, 1, 1, 1), {n, 5, 5, 7}, {9, 1, 1, 7}});
  expect_exact({conv(2, 0, 2, 1, 1), {n, 5, 5, 8}, {9, 1, 1, 8}});
  expect_exact({conv(2, 1, 1, 1, 2), {n, 5, 6, 6}, {8, 3, 2, 3}});
  ir::Conv unsigned_codes = conv(2, 1, 1, 1, 1);
  unsigned_codes.zero_points = {200, {}};
  expect_exact({unsigned_codes, {n, 4, 4, 2}, {3, 3, 3, 2}, ElementType::kUint8});
  expect_exact({conv(1, 1, 1, 1, 1), {n, 11, 5}, {6, 3, 5}});
  expect_exact({conv(3, 1, 1, 1, 1), {n, 3, 4, 3, 2}, {4, 2, 2, 2, 2}});
}

TEST(IntegerConv, MatchesReferenceDepthwise) {
  const ir::Dim n = ir::kBatch;
  expect_exact({conv(2, 1, 1, 1, 20), {n, 6, 6, 20}, {20, 3, 3, 1}});
  expect_exact({conv(2, 1, 2, 1, 5), {n, 6, 6, 5}, {15, 3, 3, 1}});
}

TEST(IntegerConv, GivesTheSameForAnyNumberOfThreads) {
  set_num_threads(3);
  const IntegerLayer layer{conv(2, 1, 1, 1, 1), {ir::kBatch, 32, 32, 16}, {16, 3, 3, 16}};
  Random random(63);
  const auto inputs =
      ir::test::list(random_codes(ElementType::kInt8, layer.x.with_batch(1), random));
  Session one(make_plan(graph_of(layer), {.batch = 1, .threads = 1}));
  Session three(make_plan(graph_of(layer), {.batch = 1, .threads = 3}));
  EXPECT_TRUE(testing::same_bytes(one.run(inputs), three.run(inputs)));
  set_num_threads(0);
}

/// Adds a Requantize of the sums of the last node.
ir::Graph with_codes(ir::Graph graph, const ir::Requantize& op) {
  const ir::ValueId sums = graph.outputs()[0];
  graph.set_outputs({graph.add_node("codes", op, {sums})});
  return graph;
}

// Sums become codes in the step of the layer: the bits are those of both nodes.
TEST(IntegerConv, MakesCodesOfItsSums) {
  const ir::Dim n = ir::kBatch;
  const IntegerLayer layers[] = {
      {conv(2, 1, 1, 1, 1), {n, 40, 33, 3}, {5, 3, 3, 3}},
      {conv(2, 0, 1, 1, 1), {n, 5, 5, 8}, {9, 1, 1, 8}},
      {conv(2, 1, 1, 1, 20), {n, 6, 6, 20}, {20, 3, 3, 1}},
      {conv(2, 1, 1, 1, 2), {n, 5, 6, 6}, {8, 3, 2, 3}},
      {ir::FullyConnected{{}, {3, {5}}}, {n, 2, 35}, {19, 35}},
  };
  for (const IntegerLayer& layer : layers) {
    for (const auto rounding :
         {ir::CodeRounding::kHalfEven, ir::CodeRounding::kHalfAway, ir::CodeRounding::kTwice}) {
      ir::Requantize op{{}, 3, ElementType::kInt8, -100, 127, rounding};
      for (ir::Dim o = 0; o < layer.w[0]; ++o) op.multipliers.push_back(0.001 + 0.0001 * double(o));
      const ir::Graph graph = with_codes(graph_of(layer), op);
      for (const int threads : {1, 3}) {
        Random random(65);
        const auto plan = make_plan(graph, {.batch = 3, .threads = threads});
        ASSERT_EQ(plan->steps().size(), 1U);
        EXPECT_EQ(plan->steps()[0].kernel, "integers");
        Session session(plan);
        const auto inputs =
            ir::test::list(random_codes(layer.x_element, layer.x.with_batch(3), random));
        const ir::Graph whole = prepare(graph, {.batch = 3}).graph;
        EXPECT_TRUE(
            testing::same_bytes(session.run(inputs), testing::run_reference(whole, inputs)));
      }
    }
  }
}

TEST(IntegerConv, KeepsSumsThatOthersRead) {
  ir::Graph graph =
      with_codes(graph_of({conv(2, 0, 1, 1, 1), {ir::kBatch, 5, 5, 8}, {9, 1, 1, 8}}), {{0.01}});
  graph.add_output(graph.node(*graph.producer(graph.outputs()[0])).inputs[0]);
  EXPECT_EQ(make_plan(graph, {})->steps().size(), 2U);
}

struct Pair {
  ir::BinaryKind kind = ir::BinaryKind::kAdd;
  Shape b = {2, 5, 6};
  ir::Activation activation{};
  ElementType element = ElementType::kUint8;
};

/// Dequantize two codes of [2, 5, 6] and b, combine, Quantize.
ir::Graph graph_of(const Pair& pair) {
  ir::Graph graph;
  const auto a = graph.add_input("a", ir::dense_type(pair.element, {2, 5, 6}));
  const auto b = graph.add_input("b", ir::dense_type(pair.element, pair.b));
  const auto x = graph.add_node("x", ir::DequantizeLinear{{{0.07F}, {3}, 0}}, {a});
  const auto y = graph.add_node("y", ir::DequantizeLinear{{{0.11F}, {9}, 0}}, {b});
  const auto sum = graph.add_node("sum", ir::Binary{pair.kind, pair.activation}, {x, y});
  graph.add_output(
      graph.add_node("q", ir::QuantizeLinear{{{0.09F}, {20}, 0}, pair.element}, {sum}));
  return graph;
}

TEST(BinaryOfCodes, IsOneStepWithTheBitsOfItsConversions) {
  using Kind = ir::BinaryKind;
  const ir::Activation relu{ir::ActivationKind::kRelu};
  const Pair pairs[] = {{Kind::kAdd},
                        {Kind::kSub, {6}},
                        {Kind::kMul, {2, 1, 6}},
                        {Kind::kAdd, {}, relu},
                        {Kind::kMul, {2, 5, 1}, {ir::ActivationKind::kRelu6}, ElementType::kInt8},
                        {Kind::kAdd, {2, 5, 6}, relu, ElementType::kInt8}};
  for (const Pair& pair : pairs) {
    const ir::Graph graph = graph_of(pair);
    const auto plan = make_plan(graph, {});
    ASSERT_EQ(plan->steps().size(), 1U);
    EXPECT_EQ(plan->steps()[0].kernel, "rows_of_codes");
    Random random(66);
    Session session(plan);
    const auto inputs = ir::test::list(random_codes(pair.element, {2, 5, 6}, random),
                                       random_codes(pair.element, pair.b, random));
    EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(graph, inputs)));
  }
}

TEST(BinaryOfCodes, OfSixteenBitsKeepTheirConversions) {
  const ir::Graph graph = graph_of({.element = ElementType::kInt16});
  Random random(67);
  Session session(make_plan(graph, {}));
  const auto inputs = ir::test::list(
      ir::test::uniform_tensor({2, 5, 6}, random, -9000, 9000).cast(ElementType::kInt16),
      ir::test::uniform_tensor({2, 5, 6}, random, -9000, 9000).cast(ElementType::kInt16));
  EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(graph, inputs)));
}

/// Integers of two codes, one of them broadcast, requantized: as passes::use_integers() makes it.
ir::Graph integers_of_pairs(ir::BinaryKind kind, const Shape& a_shape, const Shape& b_shape) {
  const auto integers = [](std::int32_t factor) {
    ir::Lookup lookup{ElementType::kInt32, {}};
    for (std::int32_t q = 0; q < 256; ++q) lookup.table.push_back(factor * (q - 100));
    return lookup;
  };
  ir::Graph graph;
  const auto a = graph.add_input("a", ir::dense_type(ElementType::kInt8, a_shape));
  const auto b = graph.add_input("b", ir::dense_type(ElementType::kUint8, b_shape));
  const auto x = graph.add_node("x", integers(300), {a});
  const auto y = graph.add_node("y", integers(-171), {b});
  const auto sum = graph.add_node("sum", ir::Binary{kind, {}}, {x, y});
  const double multiplier = kind == ir::BinaryKind::kMul ? 1e-7 : 2e-3;
  const ir::Requantize back{{multiplier}, 3,   ElementType::kInt8,
                            -120,         127, ir::CodeRounding::kTwice};
  graph.add_output(graph.add_node("q", back, {sum}));
  return graph;
}

TEST(BinaryOfCodes, OfIntegersIsATableOfAllPairs) {
  const std::pair<Shape, Shape> shapes[] = {
      {{3, 40, 32}, {3, 40, 32}}, {{3, 40, 32}, {32}}, {{3, 1, 32}, {3, 40, 1}}, {{1}, {65, 64}}};
  for (const auto kind : {ir::BinaryKind::kAdd, ir::BinaryKind::kSub, ir::BinaryKind::kMul}) {
    for (const auto& [a, b] : shapes) {
      const ir::Graph graph = integers_of_pairs(kind, a, b);
      const auto plan = make_plan(graph, {});
      ASSERT_EQ(plan->steps().size(), 1U);
      EXPECT_EQ(plan->steps()[0].kernel, "table_of_pairs");
      Random random(68);
      Session session(plan);
      const auto inputs = ir::test::list(random_codes(ElementType::kInt8, a, random),
                                         random_codes(ElementType::kUint8, b, random));
      EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(graph, inputs)));
    }
  }
  EXPECT_EQ(make_plan(integers_of_pairs(ir::BinaryKind::kAdd, {8}, {8}), {})->steps().size(), 4U);
}

TEST(BinaryOfCodes, KeepsNumbersThatOthersRead) {
  ir::Graph graph = graph_of(Pair{});
  for (const ir::NodeId id : graph.topological_order()) {
    if (graph.node(id).name == "x") graph.add_output(graph.node(id).output);
  }
  EXPECT_EQ(make_plan(graph, {})->steps().size(), 2U);
}

/// Compares one operator on a tensor with its reference implementation.
void expect_same(const ir::Operator& op, const ir::Tensor& x, const std::string& kernel) {
  ir::Graph graph;
  const auto in = graph.add_input("x", x.type());
  graph.add_output(graph.add_node("y", op, {in}));
  const auto plan = make_plan(graph, {});
  EXPECT_EQ(plan->steps()[0].kernel, kernel);
  Session session(plan);
  const auto inputs = ir::test::list(x.clone());
  EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(graph, inputs)))
      << ir::name_of(op) << " " << ir::attributes_of(op);
}

TEST(Requantize, MatchesReference) {
  Random random(64);
  const ir::Tensor sums =
      ir::test::uniform_tensor({40, 7}, random, -3e5, 3e5).cast(ElementType::kInt32);
  const ir::Requantize one{{0.0005}, 3, ElementType::kInt8, -100, 127};
  expect_same(one, sums, "codes");
  const ir::Requantize each{
      {1e-4, 0.5, 1e-3, 3, 1e300, 1e-300, 2e-4}, 7, ElementType::kUint8, 7, 255};
  expect_same(each, sums, "codes");
  const ir::Tensor ties = ir::test::tensor<std::int32_t>({6}, {1, 3, 5, -1, -3, -5});
  expect_same(ir::Requantize{{0.5}}, ties, "codes");
  ir::Requantize away{{0.5}};
  away.rounding = ir::CodeRounding::kHalfAway;
  expect_same(away, ties, "codes");
  away.multipliers = {1e-4, 0.5, 1e-3, 3, 1e300, 1e-300, 2e-4};
  expect_same(away, sums, "codes");
}

TEST(Requantize, MatchesReferenceRoundedTwice) {
  Random random(67);
  const ir::Tensor sums =
      ir::test::uniform_tensor({40, 3}, random, -3e5, 3e5).cast(ElementType::kInt32);
  for (const auto element : {ElementType::kInt8, ElementType::kUint8}) {
    const auto [low, high] = ir::code_range(element);
    ir::Requantize op{{0.0005}, 3, element, low, high, ir::CodeRounding::kTwice};
    expect_same(op, sums, "codes");
    op.multipliers = {1e-4, 0.5, 3};
    expect_same(op, sums, "codes");
    op.count = 49;
    expect_same(op, sums, "codes");
  }
}

TEST(Lookup, MatchesReference) {
  Random random(68);
  for (const auto from : {ElementType::kInt8, ElementType::kUint8}) {
    for (const auto to : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt32}) {
      const auto low = static_cast<double>(to == ElementType::kInt8 ? -128 : 0);
      const auto high = to == ElementType::kInt32 ? 1e6 : low + 256;
      const ir::Tensor table =
          ir::test::uniform_tensor({256}, random, low, high).cast(ElementType::kInt32);
      const ir::Lookup op{to, ir::test::elements<std::int32_t>(table)};
      expect_same(op, random_codes(from, {3, 100}, random), "table");
    }
  }
}

TEST(Pool, OfCodesMatchesReference) {
  Random random(69);
  ir::Pool op{ir::PoolKind::kMax, {3, 2}, ir::plain_window(2)};
  op.window.strides = {2, 2};
  op.window.pads_before = op.window.pads_after = {1, 1};
  for (const auto kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    op.kind = kind;
    for (const auto element : {ElementType::kInt8, ElementType::kUint8}) {
      expect_same(op, random_codes(element, {2, 7, 6, 19}, random), "codes");
    }
  }
}

TEST(Reduce, OfIntegersMatchesReference) {
  Random random(70);
  const ir::Tensor x =
      ir::test::uniform_tensor({2, 5, 4, 3}, random, -2e9, 2e9).cast(ElementType::kInt32);
  for (const auto& axes : {std::vector<std::size_t>{1, 2}, {3}, {0, 1, 2, 3}}) {
    expect_same(ir::Reduce{ir::ReduceKind::kSum, axes, false}, x, "joined_axes_i32");
  }
  expect_same(ir::Reduce{ir::ReduceKind::kSum, {1, 3}, true}, x, "reference");
  expect_same(ir::Reduce{ir::ReduceKind::kMax, {3}, true}, x, "reference");
}

TEST(Binary, OfIntegersMatchesReference) {
  Random random(71);
  const auto numbers = [&random](const Shape& shape) {
    return ir::test::uniform_tensor(shape, random, -2e9, 2e9).cast(ElementType::kInt32);
  };
  using Kind = ir::BinaryKind;
  for (const Kind kind : {Kind::kAdd, Kind::kSub, Kind::kMul, Kind::kMax}) {
    for (const Shape& shape : {Shape{4, 5, 6}, Shape{6}, Shape{4, 1, 1}, Shape{}}) {
      ir::Graph graph;
      const auto a = graph.add_input("a", ir::dense_type(ElementType::kInt32, {4, 5, 6}));
      const auto b = graph.add_input("b", ir::dense_type(ElementType::kInt32, shape));
      graph.add_output(graph.add_node("y", ir::Binary{kind, {}}, {a, b}));
      const auto plan = make_plan(graph, {});
      EXPECT_EQ(plan->steps()[0].kernel, kind == Kind::kMax ? "reference" : "rows_i32");
      Session session(plan);
      const auto inputs = ir::test::list(numbers({4, 5, 6}), numbers(shape));
      EXPECT_TRUE(testing::same_bytes(session.run(inputs), testing::run_reference(graph, inputs)));
    }
  }
}

TEST(Softmax, OfCodesMatchesReference) {
  Random random(72);
  for (const auto element : {ElementType::kInt8, ElementType::kUint8}) {
    expect_same(ir::Softmax{1, 0.07F}, random_codes(element, {3, 40}, random), "table");
    expect_same(ir::Softmax{0, 0.07F}, random_codes(element, {3, 40}, random), "reference");
  }
}

TEST(QuantizeLinear, MatchesReference) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Random random(65);
  const ir::Tensor x = testing::random_tensor({9, 33}, random, 40);
  const ir::Tensor odd = ir::test::floats(
      {10}, {0.5F, 1.5F, -0.5F, -2.5F, 1e30F, -1e30F, kInfinity, -kInfinity, nan, 127.5F});
  for (const auto element : {ElementType::kInt8, ElementType::kUint8}) {
    expect_same(ir::QuantizeLinear{{{0.3F}, {5}, 0}, element}, x, "codes");
    expect_same(ir::QuantizeLinear{{{1}, {0}, 0}, element}, odd, "codes");
    const auto away = ir::CodeRounding::kHalfAway;
    expect_same(ir::QuantizeLinear{{{0.3F}, {5}, 0}, element, away}, x, "codes");
    expect_same(ir::QuantizeLinear{{{1}, {0}, 0}, element, away}, odd, "codes");
  }
  expect_same(ir::QuantizeLinear{{{1, 2}, {0, 0}, 0}, ElementType::kInt8},
              ir::test::counting({2, 3}), "reference");
}

TEST(DequantizeLinear, MatchesReference) {
  Random random(66);
  for (const auto element : {ElementType::kInt8, ElementType::kUint8, ElementType::kInt32}) {
    const ir::Tensor q = ir::test::uniform_tensor({5, 4}, random, 0, 127).cast(element);
    expect_same(ir::DequantizeLinear{{{0.3F}, {5}, 0}}, q, "numbers");
    expect_same(ir::DequantizeLinear{{{1, 2, 3, 4}, {0, 1, 2, 3}, 1}}, q, "numbers");
    expect_same(ir::DequantizeLinear{{{1, 2, 3, 4, 5}, {0, 1, 2, 3, 4}, 0}}, q, "reference");
  }
}

}  // namespace
}  // namespace halftone::runtime
