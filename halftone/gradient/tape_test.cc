// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/tape.h"

#include <gmock/gmock.h>

#include <set>
#include <vector>

#include "halftone/gradient/testing.h"
#include "halftone/ir/operators_page.h"

namespace halftone::gradient {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::ValueId;
using ir::test::CaseGraph;
using ir::test::expect_error;
using ir::test::OperatorCase;

TEST(Tape, OutputsAreTheDefinitions) {
  std::size_t num_refused = 0;
  for (const OperatorCase& test : ir::test::operator_cases()) {
    const CaseGraph graph = graph_of(test);
    const auto tape = tape_of(graph, {});
    if (!tape) {
      ++num_refused;
      continue;
    }
    tape->forward({});
    const ValueId output = graph.graph.outputs()[0];
    const auto expected = ir::test::run_reference(graph.graph, graph.inputs);
    const std::span<const float> found = tape->data(output);
    ir::test::expect_near(ir::test::list(ir::Tensor::from<float>(expected[0].shape(), found)),
                          ir::test::list(expected[0].cast(ir::ElementType::kFloat32)),
                          tolerance_of(graph), describe(test));
  }
  // Only products without fast code: of integers, of sequences with lengths, attention with states;
  // and recurrences of language models, 15 of them.
  EXPECT_LE(num_refused, 20U);
}

/// Remainders by random numbers jump too often for differences; the slopes of the table of binary
/// kinds have a test of their own. Rounding is a staircase whose gradient is that of the identity.
bool has_jumps(const ir::Operator& op) {
  const auto* binary = std::get_if<ir::Binary>(&op);
  return std::holds_alternative<ir::FakeQuantize>(op) ||
         (binary != nullptr &&
          (binary->kind == BinaryKind::kMod || binary->kind == BinaryKind::kFmod));
}

TEST(Tape, GradientsAreTheSlopes) {
  std::set<std::string_view> compared;
  std::size_t num_kinks = 0;
  for (const OperatorCase& test : ir::test::operator_cases()) {
    const CaseGraph graph = graph_of(test);
    if (!has_slopes(graph) || has_jumps(test.op)) continue;
    const auto tape = tape_of(graph, graph.float_inputs);
    if (!tape) continue;
    num_kinks += expect_slopes(graph, *tape, describe(test));
    compared.insert(name_of(test.op));
  }
  EXPECT_LE(num_kinks, 20U);
  // Of the functions and of the other operators that have gradients here.
  EXPECT_GE(compared.size(), 55U);
}

TEST(Tape, PassesGradientsStraightThroughRounding) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({2, 4}));
  const ir::FakeQuantize op{&numerics::find_system("int"), 4, {numerics::Granularity::kChannel, 0}};
  const auto y = graph.add_node("round", op, {x});
  graph.add_output(y);
  const std::vector<ir::ValueId> wanted = {x};
  Tape tape(graph, {}, wanted, {});
  const std::vector<float> numbers = {7, 0.4F, -1.6F, 3, 0.7F, 0.14F, -0.27F, 0};
  std::ranges::copy(numbers, tape.data(x).begin());
  tape.forward({});
  EXPECT_THAT(tape.data(y), ::testing::Pointwise(::testing::FloatEq(),
                                                 {7.F, 0.F, -2.F, 3.F, .7F, .1F, -.3F, 0.F}));
  for (std::size_t i = 0; i < 8; ++i) tape.gradient(y)[i] = static_cast<float>(i);
  tape.backward(y);
  EXPECT_THAT(tape.gradient(x), ::testing::ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

TEST(Derivative, IsThatOfTheTable) {
  EXPECT_EQ(derivative({ActivationKind::kSquare}, 3), 6);
  expect_error(ErrorKind::kUnsupported, "Floor has no gradient",
               [] { derivative({ActivationKind::kFloor}, 1); });
}

TEST(Tape, NamesWhatHasNoGradient) {
  const TapeCase cases[] = {
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

TEST(Tape, FindsPlacesThatAreComputed) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({2, 3}));
  const ValueId place = graph.add_node("place", ir::ArgReduce{1, true, false, true}, {x});
  const ValueId largest = graph.add_node("gather", ir::GatherElements{1}, {x, place});
  graph.add_output(largest);
  Tape tape(graph, {}, std::vector{x}, {});
  const auto gradient_at = [&](const std::vector<float>& numbers) {
    std::ranges::copy(numbers, tape.data(x).begin());
    tape.forward({});
    std::ranges::copy(std::vector{1.0F, 2.0F}, tape.gradient(largest).begin());
    tape.backward(largest);
    return std::vector<float>(tape.gradient(x).begin(), tape.gradient(x).end());
  };
  EXPECT_THAT(gradient_at({1, 9, 3, 7, 5, 6}), testing::ElementsAre(0, 1, 0, 2, 0, 0));
  EXPECT_THAT(gradient_at({1, 2, 3, 4, 5, 6}), testing::ElementsAre(0, 0, 1, 0, 0, 2));
}

/// y = x > 0 ? x : 0, with a condition that is computed.
TEST(Tape, PassesNoGradientThroughComparisons) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({1, 4}));
  const ValueId zero = graph.add_constant("zero", ir::test::floats({}, {0}));
  const ValueId positive =
      graph.add_node("positive", ir::Binary{BinaryKind::kGreater, {}}, {x, zero});
  const ValueId y = graph.add_node("y", ir::Where{}, {positive, x, zero});
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
