// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/tape.h"

#include <gmock/gmock.h>

#include "halftone/ir/testing.h"

namespace halftone::compress {
namespace {

using ir::ActivationKind;
using ir::BinaryKind;
using ir::Shape;
using ir::Tensor;
using ir::ValueId;
using ir::test::expect_error;
using ir::test::random_tensor;

/// A graph of one node whose inputs are all constants but the first.
struct OneNode {
  ir::Graph graph;
  std::vector<ValueId> inputs;
  ValueId output = ir::kAbsent;
};

OneNode one_node(const ir::Operator& op, const std::vector<Shape>& shapes) {
  Random random(5);
  OneNode test;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (i == 0) {
      test.inputs.push_back(
          test.graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, shapes[i])));
    } else {
      test.inputs.push_back(test.graph.add_constant("c", random_tensor(shapes[i], random)));
    }
  }
  test.output = test.graph.add_node("node", op, test.inputs);
  test.graph.add_output(test.output);
  return test;
}

/// sum_i weight_i y_i, a function whose gradient by y is `weight`.
double weighted_sum(std::span<const float> y, std::span<const float> weight) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    sum += static_cast<double>(y[i]) * static_cast<double>(weight[i]);
  }
  return sum;
}

/// Compares every gradient with differences of the output.
void expect_true_gradients(const ir::Operator& op, const std::vector<Shape>& shapes) {
  OneNode test = one_node(op, shapes);
  Tape tape(test.graph, {}, test.inputs, {});
  Random random(7);
  for (float& x : tape.data(test.inputs[0])) x = static_cast<float>(random.normal());
  std::vector<float> weight(tape.data(test.output).size());
  for (float& w : weight) w = static_cast<float>(random.normal());
  tape.forward({});
  std::ranges::copy(weight, tape.gradient(test.output).begin());
  tape.backward(test.output);
  for (const ValueId id : test.inputs) {
    const std::vector<float> gradient(tape.gradient(id).begin(), tape.gradient(id).end());
    for (std::size_t i = 0; i < gradient.size(); ++i) {
      constexpr float kStep = 1e-2F;
      float& x = tape.data(id)[i];
      const float middle = x;
      x = middle + kStep;
      tape.forward({});
      const double above = weighted_sum(tape.data(test.output), weight);
      x = middle - kStep;
      tape.forward({});
      const double below = weighted_sum(tape.data(test.output), weight);
      x = middle;
      // Differences are off by a third derivative times the step squared, and by rounding.
      EXPECT_NEAR(gradient[i], (above - below) / (2 * kStep), 2e-3 * (1 + std::abs(gradient[i])))
          << name_of(op) << " input " << static_cast<std::uint32_t>(id) << " element " << i;
    }
  }
}

/// The definition and the tape compute the same.
void expect_true_outputs(const ir::Operator& op, const std::vector<Shape>& shapes) {
  OneNode test = one_node(op, shapes);
  Tape tape(test.graph, {}, {}, {});
  Random random(9);
  std::vector<Tensor> inputs;
  inputs.push_back(random_tensor(shapes[0], random));
  std::ranges::copy(inputs[0].as<float>(), tape.data(test.inputs[0]).begin());
  tape.forward({});
  std::vector<Tensor> found;
  const std::span<const float> y = tape.data(test.output);
  found.push_back(Tensor::from<float>(test.graph.value(test.output).type.shape, y));
  ir::test::expect_near(found, ir::test::run_by_definition(test.graph, inputs), 1e-5F,
                        std::string(name_of(op)));
}

struct Case {
  ir::Operator op;
  std::vector<Shape> shapes;
};

std::vector<Case> smooth_cases() {
  const ir::Window strided{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  const ir::Activation tanh{ActivationKind::kTanh};
  return {
      {ir::FullyConnected{tanh}, {{3, 4}, {5, 4}, {5}}},
      {ir::Conv{strided, 1, tanh}, {{2, 4, 5, 3}, {4, 2, 2, 3}, {4}}},
      {ir::Conv{ir::plain_window(1), 4, {}}, {{1, 5, 4}, {4, 2, 1}}},
      {ir::ConvTranspose{strided, {0, 0}, 1, tanh}, {{1, 3, 4, 2}, {3, 2, 2, 2}, {3}}},
      {ir::Unary{tanh}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSigmoid}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSilu}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kGelu}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kExp}}, {{2, 3}}},
      {ir::Unary{{ActivationKind::kSquare}}, {{2, 3}}},
      {ir::Binary{BinaryKind::kAdd, tanh}, {{2, 3, 4}, {3, 1}}},
      {ir::Binary{BinaryKind::kSub, {}}, {{2, 3}, {2, 3}}},
      {ir::Binary{BinaryKind::kMul, {}}, {{2, 3}, {3}}},
      {ir::Binary{BinaryKind::kMul, {}}, {{3}, {2, 3}}},
      {ir::Softmax{1, 2.0F, false}, {{3, 4}}},
      {ir::Pool{ir::PoolKind::kAverage, {2, 2}, strided}, {{2, 4, 4, 2}}},
      {ir::Pool{ir::PoolKind::kMax, {3}, {{2}, {1}, {1}, {1}}}, {{1, 7, 2}}},
      {ir::Reshape{{4, 3}}, {{2, 6}}},
      {ir::Transpose{{2, 0, 1}}, {{2, 3, 2}}},
      {ir::Slice{1, 3, -2, 2}, {{2, 4, 2}}},
      {ir::Concat{1}, {{2, 3}, {2, 2}, {2, 1}}},
  };
}

TEST(Tape, GradientsAreTheSlopes) {
  for (const Case& test : smooth_cases()) expect_true_gradients(test.op, test.shapes);
}

TEST(Tape, OutputsAreTheDefinitions) {
  for (const Case& test : smooth_cases()) expect_true_outputs(test.op, test.shapes);
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
  const OneNode test = one_node(ir::Binary{BinaryKind::kPow, {}}, {{2}, {2}});
  expect_error(ErrorKind::kUnsupported, "node 'node' (Pow) has no gradient",
               [&] { Tape(test.graph, {}, test.inputs, {}); });
}

/// x encoded in the levels -3, -1, 1, 3.
struct Encoded {
  ir::Graph graph;
  ValueId x;
  ValueId codes;
  ValueId y;
  LearnedLevels levels{ParameterSpace(Scheme::kBasis, 2, false),
                       numerics::make_basis(std::vector{1.0F, 2.0F})};

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
  // Nothing passes where x lies beyond the levels.
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

}  // namespace
}  // namespace halftone::compress

namespace halftone::compress {
namespace {

TEST(LearnedWeights, StartFromTheCodesTheyAreGiven) {
  Random random(3);
  constexpr std::size_t kRows = 5;
  constexpr std::size_t kCols = 40;
  const Tensor weights = random_tensor({kRows, kCols}, random);
  for (const int bits : {1, 2, 3}) {
    numerics::BasisEncoding encoding;
    encoding.bits = bits;
    encoding.has_offset = true;
    encoding.granularity = numerics::Granularity::kChannel;
    for (std::size_t r = 0; r < kRows; ++r) {
      std::vector<float> a;
      for (int i = 0; i < bits; ++i) a.push_back(static_cast<float>(random.normal()));
      encoding.bases.push_back(numerics::make_basis(a, 0.1F));
    }
    numerics::BitPlanes codes(kRows, kCols, bits);
    for (std::size_t i = 0; i < kRows * kCols; ++i) {
      codes.set_code(i / kCols, i % kCols, static_cast<numerics::Code>(random.below(1U << bits)));
    }
    const LearnedWeights learned(Scheme::kBasis, encoding, codes, weights.as<float>());
    EXPECT_THAT(learned.values(), testing::ElementsAreArray(numerics::decode(codes, encoding)));
    EXPECT_EQ(learned.codes(), codes);
    EXPECT_EQ(learned.encoding(), encoding);
  }
}

}  // namespace
}  // namespace halftone::compress
