// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/layer_arithmetic.h"

#include <cmath>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/ops/traits.h"
#include "halftone/ir/testing.h"
#include "halftone/ir/verify.h"

namespace halftone::ir {
namespace {

using test::expect_error;
using test::float_type;

/// Codes of a layer in a test; 0 bits: float32.
struct Bits {
  int x = 0;
  int w = 0;
  std::size_t group = 0;
};

/// A basis whose coefficients are in no ratio of small integers, so that a Conv cannot group them.
std::shared_ptr<const numerics::MatrixEncoding> encoding_of(int bits, std::size_t group,
                                                            std::size_t num_bases) {
  std::vector<float> a;
  for (int i = 0; i < bits; ++i) a.push_back(std::pow(3.7F, static_cast<float>(i)));
  const std::vector<numerics::Basis> bases(group != 0 ? num_bases : 1, numerics::make_basis(a));
  const auto granularity =
      group != 0 ? numerics::Granularity::kGroup : numerics::Granularity::kTensor;
  return std::make_shared<const numerics::MatrixEncoding>(
      numerics::basis_encoding(bases, false, granularity, group));
}

Constant weights_of(const Shape& shape, const Bits& bits) {
  if (bits.w == 0) return Tensor(ElementType::kFloat32, shape);
  const auto [rows, cols] = matrix_extent(shape);
  const std::size_t num_bases = bits.group == 0 ? 1 : rows * ((cols + bits.group - 1) / bits.group);
  return EncodedTensor{shape, encoding_of(bits.w, bits.group, num_bases),
                       numerics::BitPlanes(rows, cols, bits.w)};
}

Graph graph_of(Operator op, const Shape& x_shape, const Shape& w_shape, const Bits& bits) {
  Graph graph;
  ValueId x = graph.add_input("x", float_type(x_shape));
  if (bits.x != 0) {
    const auto encoding = encoding_of(bits.x, 0, 1);
    if (auto* recurrent = std::get_if<Recurrent>(&op)) {
      recurrent->state_encoding = encoding;
    } else {
      x = graph.add_node("encode", Encode{encoding}, {x});
    }
  }
  const ValueId w = graph.add_constant("w", weights_of(w_shape, bits));
  graph.add_output(graph.add_node("layer", std::move(op), {x, w}));
  return graph;
}

const Node& layer_of(const Graph& graph) { return graph.node(graph.topological_order().back()); }

Arithmetic rule_of(const Graph& graph, bool int8 = true) {
  return arithmetic_by_rule(graph, layer_of(graph), int8).value();
}

Graph dense(const Bits& bits, Arithmetic arithmetic = Arithmetic::kAuto) {
  FullyConnected op;
  op.arithmetic = arithmetic;
  return graph_of(op, {kBatch, 16}, {4, 16}, bits);
}

Graph recurrent(const Bits& bits) {
  Recurrent op;
  op.kind = RecurrentKind::kRnn;
  return graph_of(op, {3, kBatch, 8}, {8, 8}, bits);
}

constexpr Dim kPixels = 5;

Graph convolution(const Bits& bits, Dim outputs = 16, Dim groups = 1, Dim channels = 8) {
  const Conv op{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, groups};
  return graph_of(op, {kBatch, kPixels, kPixels, channels}, {outputs, 3, 3, channels / groups},
                  bits);
}

TEST(Arithmetic, NamesMapBothWays) {
  for (const char* name : {"auto", "bits", "integers", "float"}) {
    EXPECT_EQ(to_string(arithmetic_named(name).value()), name);
  }
  EXPECT_EQ(arithmetic_named("int8"), std::nullopt);
}

TEST(Arithmetic, IsAnAttributeOfLayersAlone) {
  EXPECT_NE(arithmetic(Operator(FullyConnected{})), nullptr);
  EXPECT_NE(arithmetic(Operator(Conv{})), nullptr);
  EXPECT_NE(arithmetic(Operator(ConvTranspose{})), nullptr);
  EXPECT_NE(arithmetic(Operator(Recurrent{})), nullptr);
  EXPECT_NE(arithmetic(Operator(ExpertProduct{})), nullptr);
  EXPECT_EQ(arithmetic(Operator(MatMul{})), nullptr);
  EXPECT_EQ(arithmetic(Operator(Gather{})), nullptr);
  FullyConnected op;
  EXPECT_EQ(attributes_of(op), "");
  op.arithmetic = Arithmetic::kBits;
  EXPECT_EQ(attributes_of(op), "arithmetic=bits");
  EXPECT_NE(Operator(op), Operator(FullyConnected{}));
}

TEST(ArithmeticByRule, FollowsFromTheBits) {
  for (int w = 0; w <= numerics::kMaxBits; ++w) {
    for (int x = 0; x <= numerics::kMaxBits; ++x) {
      SCOPED_TRACE(std::to_string(w) + "/" + std::to_string(x));
      const auto expected = [&](int max_pairs, Arithmetic other) {
        if (w == 0) return Arithmetic::kFloat;
        return x != 0 && x * w <= max_pairs ? Arithmetic::kBits : other;
      };
      for (const Graph& graph : {dense({x, w}), recurrent({x, w})}) {
        EXPECT_EQ(rule_of(graph), expected(kMaxBitPairs, Arithmetic::kIntegers));
        EXPECT_EQ(rule_of(graph, false), expected(kMaxBitPairsBesideFloat, Arithmetic::kFloat));
      }
      const Arithmetic other = x == 0 ? Arithmetic::kFloat : Arithmetic::kIntegers;
      EXPECT_EQ(rule_of(convolution({x, w})), expected(kMaxBitPairs, other));
    }
  }
}

TEST(ArithmeticByRule, GroupsOfWeightsAreIntegers) {
  EXPECT_EQ(rule_of(dense({1, 1, 8})), Arithmetic::kIntegers);
  EXPECT_EQ(rule_of(recurrent({1, 1, 4})), Arithmetic::kIntegers);
  EXPECT_EQ(rule_of(convolution({1, 1, 8})), Arithmetic::kIntegers);
  EXPECT_EQ(rule_of(convolution({1, 1, 8}, 7)), Arithmetic::kFloat) << "few outputs";
  EXPECT_EQ(rule_of(convolution({1, 1, 9}, 128)), Arithmetic::kIntegers);
  EXPECT_EQ(rule_of(convolution({1, 1, 9})), Arithmetic::kFloat) << "few weights to gather for";
  EXPECT_EQ(rule_of(dense({1, 1, 8}), false), Arithmetic::kFloat);
}

TEST(GathersInputs, WhereGroupsEndWithinFourChannels) {
  const Shape weights{16, 3, 3, 8};
  for (const std::size_t group : {0U, 4U, 12U, 64U, 72U, 73U}) {
    EXPECT_FALSE(gathers_inputs(weights, group)) << group;
  }
  EXPECT_TRUE(gathers_inputs(weights, 18));
  EXPECT_TRUE(gathers_inputs({16, 3, 3, 6}, 4));
  EXPECT_FALSE(gathers_inputs({16, 3, 3, 6}, 54)) << "all inputs";
  const auto many = static_cast<Dim>(kMaxIntegerConvInputs) + 1;
  EXPECT_FALSE(gathers_inputs({16, 1, many - 1}, 0));
  EXPECT_TRUE(gathers_inputs({16, 1, many}, 0));
}

TEST(ArithmeticByRule, DependsOnTheFormOfAConvolution) {
  EXPECT_EQ(rule_of(convolution({1, 1}, 7)), Arithmetic::kFloat);
  EXPECT_EQ(rule_of(convolution({1, 1}, 8)), Arithmetic::kBits);
  EXPECT_EQ(rule_of(convolution({1, 1}, 8, 8)), Arithmetic::kIntegers) << "depthwise";
  const ConvTranspose transposed{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, {0, 0}, 1};
  const Graph graph = graph_of(transposed, {kBatch, 5, 5, 8}, {16, 3, 3, 8}, {1, 1});
  EXPECT_EQ(rule_of(graph), Arithmetic::kFloat);
  EXPECT_EQ(why_not(Arithmetic::kIntegers, graph, layer_of(graph)),
            "a transposed convolution multiplies float32 numbers");
}

TEST(ArithmeticByRule, NeedsConstantsOfUsualSize) {
  Graph graph = dense({1, 1});
  const ValueId bias = graph.add_input("bias", float_type({4}));
  const NodeId layer = graph.topological_order().back();
  std::vector<ValueId> inputs = layer_of(graph).inputs;
  inputs.push_back(bias);
  graph.replace_node(layer, FullyConnected{}, inputs);
  EXPECT_EQ(rule_of(graph), Arithmetic::kFloat);
  EXPECT_EQ(why_not(Arithmetic::kBits, graph, graph.node(layer)), "the bias is not constant");

  constexpr auto kMany = static_cast<Dim>(kMaxIntegerInputs) + 1;
  const Graph wide = graph_of(FullyConnected{}, {kBatch, kMany}, {1, kMany}, {8, 8});
  EXPECT_EQ(rule_of(wide), Arithmetic::kFloat);
  EXPECT_EQ(why_not(Arithmetic::kIntegers, wide, layer_of(wide)), "more than 65536 inputs");
}

TEST(ArithmeticByRule, SaysNothingOfOtherOperators) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 3}));
  graph.add_output(graph.add_node("relu", test::kRelu, {x}));
  EXPECT_EQ(arithmetic_of(graph, layer_of(graph)), std::nullopt);
  Graph integers;
  const ValueId q = integers.add_input("q", dense_type(ElementType::kInt8, {kBatch, 3}));
  const ValueId w = integers.add_constant("w", Tensor(ElementType::kInt8, {2, 3}));
  integers.add_output(integers.add_node("layer", FullyConnected{}, {q, w}));
  EXPECT_EQ(arithmetic_of(integers, layer_of(integers)), std::nullopt);
}

TEST(ArithmeticOf, IsTheAttributeUnlessIntegersAreNotAllowed) {
  for (const auto each : {Arithmetic::kBits, Arithmetic::kIntegers, Arithmetic::kFloat}) {
    const Graph few = dense({1, 1}, each);
    const Graph many = dense({8, 8}, each);
    EXPECT_EQ(arithmetic_of(few, layer_of(few)), each);
    EXPECT_EQ(arithmetic_of(many, layer_of(many)), each);
    const bool replaced = each == Arithmetic::kIntegers;
    EXPECT_EQ(arithmetic_of(few, layer_of(few), false), replaced ? Arithmetic::kBits : each);
    EXPECT_EQ(arithmetic_of(many, layer_of(many), false), replaced ? Arithmetic::kFloat : each);
  }
  const Graph unset = dense({1, 1});
  EXPECT_EQ(arithmetic_of(unset, layer_of(unset)), Arithmetic::kBits);
}

TEST(Verify, RejectsAnArithmeticThatTheCodesCannotHave) {
  const auto expect = [](const Graph& graph, const std::string& text) {
    expect_error(ErrorKind::kFormat, text, [&] { verify(graph); });
  };
  EXPECT_NO_THROW(verify(dense({8, 8}, Arithmetic::kBits)));
  EXPECT_NO_THROW(verify(dense({0, 0}, Arithmetic::kFloat)));
  expect(dense({0, 2}, Arithmetic::kBits),
         "node 'layer' (FullyConnected): arithmetic bits: the input is not encoded");
  expect(dense({2, 0}, Arithmetic::kIntegers),
         "node 'layer' (FullyConnected): arithmetic integers: the weights are not encoded");
  expect(dense({2, 2, 8}, Arithmetic::kBits), "weights have a scale per group of 8 inputs");
  Recurrent states;
  states.kind = RecurrentKind::kRnn;
  states.arithmetic = Arithmetic::kBits;
  expect(graph_of(states, {3, kBatch, 8}, {8, 8}, {0, 2}), "the states are not encoded");
  Conv conv{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1};
  conv.arithmetic = Arithmetic::kIntegers;
  expect(graph_of(conv, {kBatch, 5, 5, 8}, {16, 3, 3, 8}, {0, 2}),
         "node 'layer' (Conv): arithmetic integers: the input is not encoded");
}

TEST(Verify, RejectsAnArithmeticOfIntegers) {
  Graph graph;
  const ValueId q = graph.add_input("q", dense_type(ElementType::kInt8, {kBatch, 3}));
  const ValueId w = graph.add_constant("w", Tensor(ElementType::kInt8, {2, 3}));
  FullyConnected op;
  op.arithmetic = Arithmetic::kFloat;
  graph.add_output(graph.add_node("layer", op, {q, w}));
  expect_error(ErrorKind::kFormat, "arithmetic float: expected float32 operands, found integers",
               [&] { verify(graph); });
}

}  // namespace
}  // namespace halftone::ir
