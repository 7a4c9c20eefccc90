// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/tape.h"

#include <gmock/gmock.h>

#include "halftone/gradient/testing.h"
#include "halftone/ir/operators_page.h"

namespace halftone::gradient {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::ValueId;
using ir::test::expect_error;

std::vector<TapeCase> layer_cases() {
  const ir::Window strided{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  const ir::Activation tanh{ActivationKind::kTanh};
  return {
      {ir::FullyConnected{tanh}, {{3, 4}, {5, 4}, {5}}},
      {ir::Conv{strided, 1, tanh}, {{2, 4, 5, 3}, {4, 2, 2, 3}, {4}}},
      {ir::Conv{ir::plain_window(1), 4, {}}, {{1, 5, 4}, {4, 2, 1}}},
      {ir::ConvTranspose{strided, {0, 0}, 1, tanh}, {{1, 3, 4, 2}, {3, 2, 2, 2}, {3}}},
      {ir::MatMul{}, {{2, 3, 4}, {2, 4, 5}}},
      {ir::MatMul{true, false}, {{2, 1, 4, 3}, {3, 4, 2}}},
      {ir::MatMul{false, true}, {{3, 4}, {2, 5, 4}}},
      {ir::MatMul{true, true}, {{4, 3}, {5, 4}}},
      {ir::MatMul{}, {{4}, {2, 4, 3}}},
      {ir::MatMul{}, {{2, 3, 4}, {4}}},
      {ir::MatMul{}, {{4}, {4}}},
      {ir::Pool{ir::PoolKind::kAverage, {2, 2}, strided}, {{2, 4, 4, 2}}},
      {ir::Pool{ir::PoolKind::kMax, {3}, {{2}, {1}, {1}, {1}}}, {{1, 7, 2}}},
  };
}

std::vector<TapeCase> elementwise_cases() {
  const ir::Activation tanh{ActivationKind::kTanh};
  return {
      {ir::Unary{tanh}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSigmoid}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSilu}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kGelu}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kExp}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSquare}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kLog}}, {{2, 3}}, true},
      {ir::Unary{{ActivationKind::kSqrt}}, {{2, 3}}, true},
      {ir::Unary{{ActivationKind::kReciprocal}}, {{2, 3}}, true},
      {ir::Binary{BinaryKind::kAdd, tanh}, {{2, 3, 4}, {3, 1}}},
      {ir::Binary{BinaryKind::kSub, {}}, {{2, 3}, {2, 3}}},
      {ir::Binary{BinaryKind::kMul, {}}, {{2, 3}, {3}}},
      {ir::Binary{BinaryKind::kMul, {}}, {{3}, {2, 3}}},
      {ir::Binary{BinaryKind::kDiv, {}}, {{2, 3}, {2, 1}}, true},
      {ir::Binary{BinaryKind::kMax, {}}, {{2, 3}, {3}}},
      {ir::Binary{BinaryKind::kMin, {}}, {{2, 3}, {3}}},
      {ir::Binary{BinaryKind::kPow, {}}, {{2, 3}, {}}, true},
      {ir::Binary{BinaryKind::kPRelu, {}}, {{4, 3}, {3}}},
      {ir::Where{}, {{2, 1}, {2, 3}, {}}, false, {{0, ir::ElementType::kBool, {1, 0}}}},
  };
}

std::vector<TapeCase> statistic_cases() {
  using Kind = ir::ReduceKind;
  return {
      {ir::Softmax{1, 2.0F, false}, {{3, 4}}},
      {ir::Softmax{1, 0.5F, false}, {{2, 4, 3}}},
      {ir::Softmax{1, 1.0F, true}, {{2, 3, 2}}},
      {ir::Normalize{{2}}, {{2, 3, 5}}},
      {ir::Normalize{{1, 2}, 0.1F, false}, {{2, 3, 2}}},
      {ir::Reduce{Kind::kSum, {1}, true}, {{2, 3, 2}}},
      {ir::Reduce{Kind::kMean, {1, 2}, false}, {{2, 3, 2}}},
      {ir::Reduce{Kind::kMax, {2}, false}, {{2, 3, 4}}},
      {ir::Reduce{Kind::kMin, {1}, true}, {{2, 3, 4}}},
      {ir::Reduce{Kind::kL1, {1}, false}, {{2, 6}}},
      {ir::Reduce{Kind::kL2, {1}, false}, {{2, 6}}},
      {ir::Reduce{Kind::kSumSquare, {1}, false}, {{2, 6}}},
      {ir::Reduce{Kind::kLogSum, {1}, false}, {{2, 6}}, true},
      {ir::Reduce{Kind::kLogSumExp, {1}, false}, {{2, 6}}},
      {ir::CumSum{1}, {{2, 4, 3}}},
      {ir::CumSum{0, true, false}, {{3, 2}}},
      {ir::CumSum{2, false, true}, {{2, 2, 4}}},
      {ir::CumSum{1, true, true}, {{2, 4}}},
  };
}

std::vector<TapeCase> moving_cases() {
  const auto places = [](std::vector<float> numbers) {
    return FixedInput{1, ir::ElementType::kInt64, std::move(numbers)};
  };
  return {
      {ir::Reshape{{4, 3}}, {{2, 6}}},
      {ir::Transpose{{2, 0, 1}}, {{2, 3, 2}}},
      {ir::Slice{1, 3, -2, 2}, {{2, 4, 2}}},
      {ir::Concat{1}, {{2, 3}, {2, 2}, {2, 1}}},
      {ir::BroadcastTo{{2, 3, 4}}, {{3, 1}}},
      {ir::Tile{{1, 2}}, {{2, 3}}},
      {ir::Pad{ir::PadMode::kReflect, {0, 1}, {0, 2}}, {{2, 4}}},
      {ir::Pad{ir::PadMode::kConstant, {0, 1}, {1, 0}}, {{2, 3}, {}}},
      {ir::Gather{1}, {{2, 3, 2}, {4}}, false, places({2, -3, 2, 1})},
      {ir::GatherElements{1}, {{2, 3}, {2, 2}}, false, places({2, 2, 0, 1})},
      {ir::GatherND{}, {{3, 2}, {2, 1}}, false, places({2, 0})},
      {ir::ReverseSequence{0, 1}, {{2, 4}, {2}}, false, places({3, 2})},
      {ir::ScatterElements{1}, {{2, 3}, {2, 2}, {2, 2}}, false, places({2, 0, 0, 1})},
      {ir::ScatterND{}, {{3, 2}, {2, 1}, {2, 2}}, false, places({2, 0})},
      {ir::Resize{1, 5, 2.5F}, {{2, 2, 2}}},
  };
}

TEST(Tape, GradientsAreTheSlopes) {
  for (const auto& cases :
       {layer_cases(), elementwise_cases(), statistic_cases(), moving_cases()}) {
    for (const TapeCase& test : cases) expect_true_gradients(test);
  }
}

TEST(Tape, OutputsAreTheDefinitions) {
  for (const auto& cases :
       {layer_cases(), elementwise_cases(), statistic_cases(), moving_cases()}) {
    for (const TapeCase& test : cases) expect_true_outputs(test);
  }
}

TEST(Derivative, IsTheSlopeAwayFromKinks) {
  const ir::Activation functions[] = {{ActivationKind::kIdentity},
                                      {ActivationKind::kRelu},
                                      {ActivationKind::kReluN1To1},
                                      {ActivationKind::kRelu6},
                                      {ActivationKind::kClip, -0.5F, 0.7F},
                                      {ActivationKind::kLeakyRelu, 0.1F},
                                      {ActivationKind::kElu, 1.5F},
                                      {ActivationKind::kSelu, 1.67F, 1.05F},
                                      {ActivationKind::kTanh},
                                      {ActivationKind::kSigmoid},
                                      {ActivationKind::kHardSigmoid, 0.2F, 0.5F},
                                      {ActivationKind::kHardSwish},
                                      {ActivationKind::kSilu},
                                      {ActivationKind::kGelu},
                                      {ActivationKind::kGeluTanh},
                                      {ActivationKind::kSoftplus},
                                      {ActivationKind::kSoftsign},
                                      {ActivationKind::kErf},
                                      {ActivationKind::kAbs},
                                      {ActivationKind::kSin},
                                      {ActivationKind::kCos},
                                      {ActivationKind::kExp},
                                      {ActivationKind::kSquare},
                                      {ActivationKind::kNeg}};
  for (const ir::Activation& function : functions) {
    for (const float x : {-6.3F, -2.1F, -0.8F, -0.3F, 0.4F, 0.9F, 2.2F, 7.1F}) {
      const float slope = (apply(function, x + 1e-2F) - apply(function, x - 1e-2F)) / 2e-2F;
      EXPECT_NEAR(derivative(function, x), slope, 2e-4F * (1 + std::abs(slope)))
          << to_string(function) << " at " << x;
    }
  }
  expect_error(ErrorKind::kUnsupported, "Floor has no gradient",
               [] { derivative({ActivationKind::kFloor}, 1); });
}

TEST(Tape, NamesWhatHasNoGradient) {
  const TapeCase cases[] = {
      {ir::Binary{BinaryKind::kMod, {}}, {{2}, {2}}},
      {ir::Reduce{ir::ReduceKind::kProd, {0}, true}, {{2}}},
      {ir::LocalNormalize{0, 1, 1}, {{2}}},
      {ir::Pool{ir::PoolKind::kAverage, {2}, {{1}, {1}, {1}, {0}}, true}, {{1, 3, 1}}}};
  for (const TapeCase& test : cases) {
    const OneNode node = one_node(test);
    expect_error(ErrorKind::kUnsupported,
                 "node 'node' (" + std::string(name_of(test.op)) + ") has no gradient",
                 [&] { Tape(node.graph, {}, node.wanted, {}); });
    // Without a wanted gradient the operator is accepted.
    expect_true_outputs({test.op, test.shapes}, false);
  }
}

TEST(Tape, KnowsWhichOperatorsHaveAGradient) {
  EXPECT_TRUE(has_step(ir::CumSum{0}));
  EXPECT_TRUE(has_step(ir::Reshape{}));
  EXPECT_TRUE(has_step(ir::Encode{ir::test::odd_encoding()}));
  EXPECT_FALSE(has_step(ir::LocalNormalize{}));
  EXPECT_FALSE(has_step(ir::ScatterND{ir::Scatter::kMax}));
}

TEST(Tape, NamesPlacesThatAreComputed) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({2, 3}));
  const ValueId place = graph.add_node("place", ir::ArgReduce{1, true, false, true}, {x});
  graph.add_output(graph.add_node("gather", ir::GatherElements{1}, {x, place}));
  expect_error(ErrorKind::kUnsupported, "node 'gather' (GatherElements) has no gradient",
               [&] { Tape(graph, {}, std::vector{x}, {}); });
}

/// y = x > 0 ? x : 0, with a condition that is computed.
TEST(Tape, PassesNoGradientThroughQuestions) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({1, 4}));
  const ValueId zero = graph.add_constant("zero", ir::test::floats({}, {0}));
  const ValueId asked = graph.add_node("asked", ir::Binary{BinaryKind::kGreater, {}}, {x, zero});
  const ValueId y = graph.add_node("y", ir::Where{}, {asked, x, zero});
  graph.add_output(y);
  Tape tape(graph, {}, std::vector{x}, {});
  std::ranges::copy(std::vector{0.5F, -1.5F, 2.0F, -2.5F}, tape.data(x).begin());
  tape.forward({});
  EXPECT_THAT(tape.data(y), testing::ElementsAre(0.5F, 0, 2, 0));
  std::ranges::copy(std::vector{1.0F, 2.0F, 4.0F, 8.0F}, tape.gradient(y).begin());
  tape.backward(y);
  EXPECT_THAT(tape.gradient(x), testing::ElementsAre(1, 0, 4, 0));
}

/// x encoded in the levels -3, -1, 1, 3.
struct Encoded {
  ir::Graph graph;
  ValueId x;
  ValueId codes;
  ValueId y;
  numerics::LevelTable levels{numerics::make_basis(std::vector{1.0F, 2.0F})};

  Encoded() {
    x = graph.add_input("x", ir::test::float_type({1, 4}));
    codes = graph.add_node("encode", ir::Encode{ir::test::odd_encoding()}, {x});
    const ValueId w = graph.add_constant("w", ir::test::floats({4, 4}, {1, 0, 0, 0, 0, 1, 0, 0,  //
                                                                        0, 0, 1, 0, 0, 0, 0, 1}));
    y = graph.add_node("layer", ir::FullyConnected{}, {codes, w});
    graph.add_output(y);
  }
};

TEST(Tape, EncodesToLevelsAndPassesGradientsStraightThrough) {
  Encoded test;
  Tape tape(test.graph, {}, std::vector{test.x}, {{test.codes, &test.levels}});
  std::ranges::copy(std::vector{0.4F, -1.5F, 9.0F, 2.5F}, tape.data(test.x).begin());
  tape.forward({});
  EXPECT_THAT(tape.data(test.y), testing::ElementsAre(1, -1, 3, 3));
  std::ranges::copy(std::vector{1.0F, 2.0F, 4.0F, 8.0F}, tape.gradient(test.y).begin());
  tape.backward(test.y);
  // No gradient passes where x lies beyond the levels.
  EXPECT_THAT(tape.gradient(test.x), testing::ElementsAre(1, 2, 0, 8));
  EXPECT_THAT(tape.level_gradient(test.codes), testing::ElementsAre(0, 2, 1, 12));
}

TEST(Tape, DroppedElementsStayFloat) {
  Encoded test;
  Tape tape(test.graph, {}, std::vector{test.x}, {{test.codes, &test.levels}});
  std::ranges::copy(std::vector{0.4F, -1.5F, 9.0F, 2.5F}, tape.data(test.x).begin());
  tape.forward({1, Random(1)});
  EXPECT_THAT(tape.data(test.y), testing::ElementsAre(0.4F, -1.5F, 9.0F, 2.5F));
  std::size_t kept = 0;
  constexpr std::size_t kRounds = 1000;
  for (std::size_t round = 0; round < kRounds; ++round) {
    tape.forward({0.25, Random(round)});
    for (const float y : tape.data(test.y)) kept += y == 1 || y == -1 || y == 3 ? 1 : 0;
  }
  // Four elements a round, each encoded with probability 3/4: five standard deviations.
  EXPECT_NEAR(static_cast<double>(kept) / (4 * kRounds), 0.75,
              5 * 0.433 / std::sqrt(4.0 * kRounds));
}

TEST(TapeOperatorsPage, NamesOperatorsWithAGradient) {
  ir::test::expect_operator_column("gradient", has_step);
}

}  // namespace
}  // namespace halftone::gradient
