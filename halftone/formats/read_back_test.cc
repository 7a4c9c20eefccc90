// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/read_back.h"

#include <gtest/gtest.h>

#include "halftone/ir/testing.h"

namespace halftone::formats {
namespace {

using ir::test::expect_error;
using ir::test::random_tensor;

struct Layer {
  ir::Shape input = {ir::kBatch, 3};
  std::uint64_t seed = 1;
  ir::ActivationKind last = ir::ActivationKind::kTanh;
};

ir::Graph network(const Layer& layer) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type(layer.input));
  const auto w = graph.add_constant("w", random_tensor({4, 3}, layer.seed));
  const auto y = graph.add_node("y", ir::FullyConnected{}, {x, w});
  graph.add_output(graph.add_node("z", ir::Unary{{layer.last}}, {y}));
  return graph;
}

TEST(ReadBack, AcceptsTheSameNetwork) {
  check_read_back(network({}), network({}), network({}));
  check_read_back(network({.input = {1, 3}}), network({.input = {1, 3}}), network({}));
}

TEST(ReadBack, RefusesOtherInputsAndOutputs) {
  expect_error(ErrorKind::kUnsupported,
               "does not read back: input 'x': expected float32[N, 3], found float32[1, 3]", [] {
                 check_read_back(network({}), network({}), network({.input = {1, 3}}));
               });
  ir::Graph twice = network({});
  twice.add_output(twice.outputs()[0]);
  expect_error(ErrorKind::kUnsupported, "number of outputs: expected 1, found 2",
               [&] { check_read_back(network({}), network({}), twice); });
}

TEST(ReadBack, RefusesOtherWeights) {
  expect_error(ErrorKind::kUnsupported,
               "does not read back: weights of 1 of 1 layers: expected 12 weights, found others",
               [] { check_read_back(network({}), network({}), network({.seed = 2})); });
}

/// A layer of codes with an arithmetic.
ir::Graph coded_layer(ir::Arithmetic arithmetic) {
  ir::FullyConnected op;
  op.arithmetic = arithmetic;
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 3}));
  const auto encoding = ir::test::odd_encoding();
  ir::EncodedTensor codes{{4, 3}, encoding, numerics::BitPlanes(4, 3, encoding->bits)};
  graph.add_output(graph.add_node("y", op, {x, graph.add_constant("w", std::move(codes))}));
  return graph;
}

TEST(ReadBack, RefusesAnotherArithmetic) {
  check_read_back(coded_layer(ir::Arithmetic::kIntegers), coded_layer(ir::Arithmetic::kIntegers),
                  coded_layer(ir::Arithmetic::kAuto));
  expect_error(
      ErrorKind::kUnsupported, "does not read back: the arithmetic of the layers differs", [] {
        check_read_back(coded_layer(ir::Arithmetic::kFloat), coded_layer(ir::Arithmetic::kFloat),
                        coded_layer(ir::Arithmetic::kAuto));
      });
}

TEST(ReadBack, RefusesAnotherFunction) {
  expect_error(ErrorKind::kUnsupported, "the outputs for random inputs differ", [] {
    check_read_back(network({}), network({}), network({.last = ir::ActivationKind::kSigmoid}));
  });
}

// A Clip at another bound changes nothing for inputs within it.
TEST(ReadBack, RefusesAnotherFunctionOfLargeInputs) {
  const auto clipped = [](float low) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6}));
    const ir::Activation clip{ir::ActivationKind::kClip, low, 3};
    graph.add_output(graph.add_node("y", ir::Unary{clip}, {x}));
    return graph;
  };
  check_read_back(clipped(-3), clipped(-3), clipped(-3));
  expect_error(ErrorKind::kUnsupported, "the outputs for random inputs differ",
               [&] { check_read_back(clipped(-3), clipped(-4), clipped(-4)); });
}

TEST(ReadBack, FindsWeightsBehindConversionsAndTransposes) {
  ir::Graph stored;
  const auto x = stored.add_input("x", ir::test::float_type({ir::kBatch, 3}));
  ir::Tensor codes(ir::ElementType::kInt8, {3, 4});
  codes.as<std::int8_t>()[5] = 7;
  const auto w = stored.add_node("scaled", ir::DequantizeLinear{{{0.5F}, {0}, 0}},
                                 {stored.add_constant("w", codes.clone())});
  stored.add_output(stored.add_node("y", ir::MatMul{}, {x, w}));
  ir::Graph turned;
  const auto input = turned.add_input("x", ir::test::float_type({ir::kBatch, 3}));
  const auto rows =
      turned.add_node("rows", ir::Transpose{{1, 0}}, {turned.add_constant("w", codes.clone())});
  const auto scaled = turned.add_node("scaled", ir::DequantizeLinear{{{0.5F}, {0}, 0}}, {rows});
  turned.add_output(turned.add_node("y", ir::FullyConnected{}, {input, scaled}));
  check_read_back(stored, stored, turned);
}

}  // namespace
}  // namespace halftone::formats
