// SPDX-License-Identifier: Apache-2.0
// Compares elementwise operators, moves and reductions with their reference implementations.
#include "halftone/train/graph/torch_operators.h"

#include <ATen/ATen.h>

#include <limits>

#include "halftone/train/graph/testing.h"
#include "halftone/train/graph/torch_tensor.h"

namespace halftone::train {
namespace {

using ir::Activation;
using ir::ActivationKind;
using ir::BinaryKind;
using ir::test::expect_error;

FixedInput places(std::vector<float> numbers) {
  return {1, ir::ElementType::kInt64, std::move(numbers)};
}

TEST(TorchUnary, IsTheDefinition) {
  using Kind = ActivationKind;
  const Activation anywhere[] = {{Kind::kIdentity},
                                 {Kind::kRelu},
                                 {Kind::kReluN1To1},
                                 {Kind::kRelu6},
                                 {Kind::kTanh},
                                 {Kind::kClip, -0.5F, 0.7F},
                                 {Kind::kLeakyRelu, 0.1F},
                                 {Kind::kElu, 1.5F},
                                 {Kind::kSelu, 1.67F, 1.05F},
                                 {Kind::kCelu, 0.7F},
                                 {Kind::kCelu, -0.7F},
                                 {Kind::kHardSigmoid, 0.2F, 0.5F},
                                 {Kind::kThresholded, 0.3F},
                                 {Kind::kSigmoid},
                                 {Kind::kHardSwish},
                                 {Kind::kSilu},
                                 {Kind::kGelu},
                                 {Kind::kGeluTanh},
                                 {Kind::kSoftplus},
                                 {Kind::kSoftsign},
                                 {Kind::kExp},
                                 {Kind::kAbs},
                                 {Kind::kNeg},
                                 {Kind::kSquare},
                                 {Kind::kErf},
                                 {Kind::kSin},
                                 {Kind::kCos},
                                 {Kind::kAtan},
                                 {Kind::kSinh},
                                 {Kind::kCosh},
                                 {Kind::kAsinh}};
  for (const Activation& function : anywhere) {
    // Large values reach the limits of bounded functions.
    expect_defined_and_slopes({{ir::Unary{function}, {{40}}}});
    expect_defined({ir::Unary{function}, {{4, 3}}, false, {}, 5});
  }
  for (const Kind kind : {Kind::kLog, Kind::kSqrt, Kind::kReciprocal}) {
    expect_defined_and_slopes({{ir::Unary{{kind}}, {{40}}, true}});
  }
  for (const Kind kind : {Kind::kTan, Kind::kAsin, Kind::kAcos, Kind::kAtanh}) {
    expect_defined_and_slopes({{ir::Unary{{kind}}, {{8}}, false, {}, 0.2F}});
  }
  ir::Unary acosh{{Kind::kAcosh}};
  expect_defined_and_slopes({{acosh, {{8}}, true, {}, 2.5F}});
}

TEST(TorchUnary, HasNoSlopeWhereItIsFlat) {
  using Kind = ActivationKind;
  for (const Kind kind : {Kind::kFloor, Kind::kCeil, Kind::kRound, Kind::kSign, Kind::kSignBit,
                          Kind::kNot, Kind::kIsNan, Kind::kIsInf}) {
    EXPECT_FALSE(is_differentiable(ir::Operator(ir::Unary{{kind}}))) << to_string(kind);
    EXPECT_FALSE(is_differentiable(ir::Operator(ir::FullyConnected{{kind}})));
  }
}

TEST(TorchBinary, IsTheDefinition) {
  expect_defined_and_slopes({{ir::Binary{BinaryKind::kAdd, kTanh}, {{2, 3, 4}, {3, 1}}},
                             {ir::Binary{BinaryKind::kSub, {}}, {{2, 3}, {2, 3}}},
                             {ir::Binary{BinaryKind::kMul, {}}, {{2, 3}, {3}}},
                             {ir::Binary{BinaryKind::kMul, {}}, {{3}, {2, 3}}},
                             {ir::Binary{BinaryKind::kDiv, {}}, {{2, 3}, {2, 1}}, true},
                             {ir::Binary{BinaryKind::kMax, {}}, {{2, 3}, {3}}},
                             {ir::Binary{BinaryKind::kMin, {}}, {{2, 3}, {3}}},
                             {ir::Binary{BinaryKind::kPow, {}}, {{2, 3}, {}}, true},
                             {ir::Binary{BinaryKind::kPRelu, {}}, {{4, 3}, {3}}},
                             {ir::Binary{BinaryKind::kMod, {}}, {{4, 3}, {3}}},
                             {ir::Binary{BinaryKind::kFmod, {}}, {{4, 3}, {3}}}});
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::Binary{BinaryKind::kLess, {}})));
  EXPECT_FALSE(is_differentiable(ir::Operator(ir::Cast{ir::ElementType::kInt32})));
}

TEST(TorchWhere, IsTheDefinition) {
  expect_defined_and_slopes(
      {{ir::Where{}, {{2, 1}, {2, 3}, {}}, false, {{0, ir::ElementType::kBool, {1, 0}}}},
       {ir::Cast{ir::ElementType::kFloat32}, {{2, 3}}}});
}

TEST(TorchMoving, IsTheDefinition) {
  using ir::PadMode;
  expect_defined_and_slopes(
      {{ir::Reshape{{4, 3}}, {{2, 6}}},
       {ir::Reshape{{}}, {{1, 1}}},
       {ir::Transpose{{2, 0, 1}}, {{2, 3, 2}}},
       {ir::Slice{1, 3, -2, 2}, {{2, 4, 2}}},
       {ir::Slice{1, 1, 2, 2}, {{2, 5, 2}}},
       {ir::Slice{0, 3, -1, 4}, {{4, 2}}},
       {ir::Concat{1}, {{2, 3}, {2, 2}, {2, 1}}},
       {ir::Concat{0}, {{2, 3}}},
       {ir::BroadcastTo{{2, 3, 4}}, {{3, 1}}},
       {ir::BroadcastTo{{1, 1}}, {{2, 3, 4}}},
       {ir::Tile{{1, 2}}, {{2, 3}}},
       {ir::Tile{{3, 2}}, {{2, 2}}},
       {ir::Pad{PadMode::kReflect, {0, 1}, {0, 2}}, {{2, 4}}},
       {ir::Pad{PadMode::kReflect, {2, 4}, {0, 5}}, {{3, 3}}},
       {ir::Pad{PadMode::kEdge, {1, 0, 2}, {0, 0, 1}}, {{2, 2, 3}}},
       {ir::Pad{PadMode::kWrap, {0, 4}, {3, 1}}, {{2, 3}}},
       {ir::Pad{PadMode::kConstant, {0, 1}, {1, 0}}, {{2, 3}}},
       {ir::Pad{PadMode::kConstant, {0, 1}, {1, 2}}, {{2, 3}, {}}},
       {ir::ReverseSequence{0, 1}, {{2, 4}, {2}}, false, {places({3, 2})}},
       {ir::ReverseSequence{1, 0}, {{4, 2, 3}, {2}}, false, {places({4, 0})}}});
  expect_defined({ir::Slice{1, 0, 1, 0}, {{2, 3}}});
}

TEST(TorchResize, IsTheDefinition) {
  using ir::Coordinates;
  for (const ir::Interpolation mode :
       {ir::Interpolation::kNearest, ir::Interpolation::kLinear, ir::Interpolation::kCubic}) {
    for (const Coordinates coordinates : {Coordinates::kHalfPixel, Coordinates::kAlignCorners,
                                          Coordinates::kAsymmetric, Coordinates::kCropAndResize}) {
      for (const std::size_t count : {3U, 5U, 9U}) {
        for (const bool flag : {false, true}) {
          ir::Resize op;
          op.axis = 1;
          op.count = count;
          op.scale = static_cast<double>(count) / 5;
          op.mode = mode;
          op.coordinates = coordinates;
          op.antialias = flag;
          op.exclude_outside = flag;
          op.begin = -0.3F;
          op.end = 0.9F;
          op.extrapolation = 2;
          expect_defined_and_slopes({{op, {{2, 5, 2}}}});
        }
      }
    }
  }
}

TEST(TorchIndexing, IsTheDefinition) {
  expect_defined_and_slopes(
      {{ir::Gather{1}, {{2, 3, 2}, {4}}, false, {places({2, -3, 2, 1})}},
       {ir::Gather{0}, {{3, 2}, {2, 2}}, false, {places({2, 0, -1, 2})}},
       {ir::Gather{1}, {{3, 2}, {}}, false, {places({-1})}},
       {ir::Gather{0}, {{3}, {2}}, false, {{1, ir::ElementType::kInt32, {2, 0}}}},
       {ir::GatherElements{1}, {{2, 3}, {2, 2}}, false, {places({2, 2, 0, -1})}},
       {ir::GatherElements{0}, {{2, 3}, {4, 2}}, false, {places({1, 0, 0, 1, -1, 1, -2, 0})}},
       {ir::GatherND{}, {{3, 2}, {2, 1}}, false, {places({2, 0})}},
       {ir::GatherND{}, {{3, 2}, {4, 2}}, false, {places({2, 0, -1, -2, 0, 1, 2, 0})}},
       {ir::GatherND{}, {{2, 3, 2}, {2, 2, 2}}, false, {places({1, 0, -1, 2, 0, 1, 1, 0})}},
       {ir::GatherND{1}, {{2, 3, 2}, {2, 2, 1}}, false, {places({2, 0, -1, 1})}},
       {ir::GatherND{1}, {{2, 3, 2}, {2, 2}}, false, {places({2, 0, -1, 1})}}});
}

TEST(TorchScattering, IsTheDefinition) {
  using ir::Scatter;
  for (const Scatter reduction :
       {Scatter::kReplace, Scatter::kAdd, Scatter::kMul, Scatter::kMax, Scatter::kMin}) {
    expect_defined_and_slopes(
        {{ir::ScatterElements{1, reduction},
          {{2, 3}, {2, 2}, {2, 2}},
          false,
          {places({2, 2, 0, -1})}},
         {ir::ScatterElements{0, reduction},
          {{3, 2}, {4, 1}, {4, 1}},
          false,
          {places({1, 0, 1, 1})}},
         {ir::ScatterND{reduction}, {{3, 2}, {3, 1}, {3, 2}}, false, {places({2, 0, -1})}},
         {ir::ScatterND{reduction}, {{3, 2}, {3, 2}, {3}}, false, {places({2, 0, 1, 1, -1, -2})}},
         {ir::ScatterND{reduction},
          {{2, 2, 2}, {2, 1, 2}, {2, 1, 2}},
          false,
          {places({1, 0, 0, 1})}}});
  }
}

TEST(TorchIndexing, RefusesPlacesOutOfRange) {
  const OperatorCase cases[] = {
      {ir::Gather{0}, {{3, 2}, {2}}, false, {places({0, 3})}},
      {ir::GatherElements{0}, {{3, 2}, {1, 2}}, false, {places({0, -4})}},
      {ir::GatherND{}, {{3, 2}, {1, 2}}, false, {places({3, 0})}},
      {ir::ScatterElements{0}, {{3}, {1}, {1}}, false, {places({3})}},
      {ir::ScatterND{}, {{3}, {1, 1}, {1}}, false, {places({-4})}},
  };
  for (const OperatorCase& test : cases) {
    const OneNode node = one_node(test);
    const TorchGraph graph(node.graph);
    expect_error(ErrorKind::kShape, " is out of range for an extent of 3",
                 [&] { forward(graph, node.inputs); });
    expect_error(ErrorKind::kShape, "node 'node' (" + std::string(name_of(test.op)) + "): index ",
                 [&] { forward(graph, node.inputs); });
  }
  const OneNode node =
      one_node({ir::ReverseSequence{0, 1}, {{2, 4}, {2}}, false, {places({5, 2})}});
  const TorchGraph graph(node.graph);
  expect_error(ErrorKind::kShape, "sequence lengths: expected 0 to 4",
               [&] { forward(graph, node.inputs); });
}

TEST(TorchStatistics, IsTheDefinition) {
  using Kind = ir::ReduceKind;
  for (const Kind kind : {Kind::kSum, Kind::kMean, Kind::kMax, Kind::kMin, Kind::kProd, Kind::kL1,
                          Kind::kL2, Kind::kSumSquare, Kind::kLogSum, Kind::kLogSumExp}) {
    for (const bool keep : {false, true}) {
      expect_defined_and_slopes({{ir::Reduce{kind, {1}, keep}, {{2, 3, 2}}, true},
                                 {ir::Reduce{kind, {1, 2}, keep}, {{2, 3, 2}}, true},
                                 {ir::Reduce{kind, {0, 2}, keep}, {{2, 3, 2}}, true},
                                 {ir::Reduce{kind, {}, keep}, {{2, 3}}, true}});
      expect_defined({ir::Reduce{kind, {1}, keep}, {{2, 0, 3}}});
    }
  }
  for (const bool exclusive : {false, true}) {
    for (const bool reverse : {false, true}) {
      expect_defined_and_slopes({{ir::CumSum{1, exclusive, reverse}, {{2, 4, 3}}}});
    }
  }
}

TEST(TorchNormalizing, IsTheDefinition) {
  expect_defined_and_slopes({{ir::Softmax{1, 2.0F, false}, {{3, 4}}},
                             {ir::Softmax{1, -0.5F, false}, {{2, 4, 3}}},
                             {ir::Softmax{1, 1.0F, true}, {{2, 3, 2}}},
                             {ir::Normalize{{2}}, {{2, 3, 5}}},
                             {ir::Normalize{{1, 2}, 0.1F, false}, {{2, 3, 2}}},
                             {ir::Normalize{{1}, 0.1F, true}, {{2, 4, 2}}},
                             {ir::Normalize{{}, 0.1F, false}, {{2, 3}}},
                             {ir::LocalNormalize{1, 1, 2, 0.3F, 0.75F, 2}, {{2, 6, 2}}},
                             {ir::LocalNormalize{2, 9, 0, 0.3F, 0.5F, 1}, {{2, 2, 4}}}});
}

TEST(ComputeOperator, RefusesWhatHasNoGradient) {
  const TorchInputs inputs({at::ones({2}), at::ones({2})});
  const ir::Operator refused[] = {ir::TopK{}, ir::Unary{{ActivationKind::kFloor}},
                                  ir::Binary{BinaryKind::kLess, {}}};
  for (const ir::Operator& op : refused) {
    EXPECT_FALSE(is_differentiable(op));
    expect_error(ErrorKind::kInternal, std::string(name_of(op)) + " has no libtorch operator",
                 [&] { compute_operator(op, inputs); });
  }
}

/// Like a GPU, libtorch's meta device rejects operators that mix tensors of two devices. It does
/// not support index_select() either.
TEST(ComputeOperator, StaysOnItsDevice) {
  const OneNode pool = one_node(
      {ir::Pool{ir::PoolKind::kAverage, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 1}}}, {{2, 4, 4, 3}}});
  const TorchGraph graph(pool.graph, at::kFloat, at::kMeta);
  const std::vector<at::Tensor> inputs{to_torch(pool.inputs[0])};
  EXPECT_TRUE(graph.forward(inputs)[0].is_meta());
}

TEST(TorchEncode, GivesTheNearestLevels) {
  const float infinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {-5,   -2, -1.99F, -0.1F,    0,         0.1F,
                                      2.1F, 3,  99,     infinity, -infinity, std::nanf("")};
  ir::Graph source;
  const ir::ValueId x = source.add_input("x", ir::test::float_type({12}));
  source.add_output(source.add_node("encode", ir::Encode{ir::test::odd_encoding()}, {x}));
  const TorchGraph graph(source);
  const auto inputs = ir::test::list(ir::test::floats({12}, numbers));
  const auto found = graph.forward(std::vector{at::tensor(numbers)});
  const auto expected = ir::test::run_by_definition(source, inputs);
  for (std::int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(found[0][i].item<float>(), expected[0].as<float>()[static_cast<std::size_t>(i)]) << i;
  }
  expect_defined({ir::Encode{ir::test::odd_encoding(), kTanh}, {{20}}, false, {}, 3});
}

}  // namespace
}  // namespace halftone::train
