// SPDX-License-Identifier: Apache-2.0
// Gradients of language models beside formulas that know nothing of the tape. Finite differences
// of all cases of the table of operators are in tape_test.cc.
#include <gmock/gmock.h>

#include <cmath>
#include <complex>
#include <vector>

#include "halftone/gradient/tape.h"
#include "halftone/gradient/testing.h"

namespace halftone::gradient {
namespace {

using ir::Dim;
using ir::Shape;
using ir::ValueId;

/// Attention with its inputs as inputs of a graph.
struct AttentionCase {
  ir::Attention op;
  std::size_t samples = 2;
  std::size_t tokens = 5;
  std::size_t key_size = 3;
  std::size_t value_size = 2;

  [[nodiscard]] Shape shape(std::size_t width) const {
    return {static_cast<Dim>(samples), static_cast<Dim>(tokens), static_cast<Dim>(width)};
  }
};

struct AttentionGraph {
  ir::Graph graph;
  std::vector<ValueId> inputs;
  ValueId output;

  explicit AttentionGraph(const AttentionCase& test) {
    const std::size_t widths[] = {test.op.heads * test.key_size, test.op.kv_heads * test.key_size,
                                  test.op.kv_heads * test.value_size};
    for (const std::size_t width : widths) {
      inputs.push_back(graph.add_input("x" + std::to_string(inputs.size()),
                                       ir::test::float_type(test.shape(width))));
    }
    output = graph.add_node("attention", test.op, inputs);
    graph.add_output(output);
  }
};

/// The shares of query t: softmax of the capped scores of what it sees, in double.
std::vector<double> shares(const AttentionCase& test, const std::vector<std::span<float>>& x,
                           std::size_t sample, std::size_t head, std::size_t t) {
  const std::size_t kv_head = head / (test.op.heads / test.op.kv_heads);
  const std::size_t first = test.op.window == 0 || t < test.op.window ? 0 : t + 1 - test.op.window;
  std::vector<double> p(test.tokens, 0);
  double sum = 0;
  for (std::size_t u = first; u <= t; ++u) {
    double score = 0;
    for (std::size_t d = 0; d < test.key_size; ++d) {
      const std::size_t q = ((sample * test.tokens + t) * test.op.heads + head) * test.key_size;
      const std::size_t k =
          ((sample * test.tokens + u) * test.op.kv_heads + kv_head) * test.key_size;
      score += double{x[0][q + d]} * double{x[1][k + d]};
    }
    score *= double{test.op.scale};
    const double cap = test.op.softcap;
    if (cap != 0) score = cap * std::tanh(score / cap);
    sum += p[u] = std::exp(score);
  }
  for (double& share : p) share /= sum;
  return p;
}

/// sum_i weight_i y_i of the definition, in double.
double weighted_output(const AttentionCase& test, const std::vector<std::span<float>>& x,
                       const std::vector<float>& weights) {
  double sum = 0;
  std::size_t at = 0;
  for (std::size_t n = 0; n < test.samples; ++n) {
    for (std::size_t t = 0; t < test.tokens; ++t) {
      for (std::size_t h = 0; h < test.op.heads; ++h) {
        const std::vector<double> p = shares(test, x, n, h, t);
        const std::size_t kv_head = h / (test.op.heads / test.op.kv_heads);
        for (std::size_t e = 0; e < test.value_size; ++e, ++at) {
          for (std::size_t u = 0; u < test.tokens; ++u) {
            const std::size_t v =
                ((n * test.tokens + u) * test.op.kv_heads + kv_head) * test.value_size;
            sum += double{weights[at]} * p[u] * double{x[2][v + e]};
          }
        }
      }
    }
  }
  return sum;
}

/// Scores are of order 1, so that third derivatives are below 2^6 and central differences in double
/// of step 2^-9 are right to 2^-14. Sums of at most 70 products of float32 numbers of order 1 have
/// an error of 70 2^-24 each, four after each other 2^-15.
void expect_definition_slopes(const AttentionCase& test) {
  const AttentionGraph graph(test);
  Tape tape(graph.graph, {}, graph.inputs, {});
  Random random(3);
  std::vector<std::span<float>> x;
  for (const ValueId id : graph.inputs) {
    x.push_back(tape.data(id));
    for (float& number : x.back()) number = static_cast<float>(random.normal());
  }
  tape.forward({});
  const std::vector<float> weights = output_weights(tape.data(graph.output).size());
  std::ranges::copy(weights, tape.gradient(graph.output).begin());
  tape.backward(graph.output);
  constexpr float kStep = 0x1p-9F;
  for (std::size_t input = 0; input < x.size(); ++input) {
    for (std::size_t i = 0; i<x[input].size(); i += test.tokens> 8 ? 37 : 1) {
      const float middle = x[input][i];
      const float above = x[input][i] = middle + kStep;
      const double high = weighted_output(test, x, weights);
      const float below = x[input][i] = middle - kStep;
      const double low = weighted_output(test, x, weights);
      x[input][i] = middle;
      EXPECT_NEAR(tape.gradient(graph.inputs[input])[i], (high - low) / double{above - below},
                  0x1p-13)
          << attributes_of(test.op) << ", input " << input << " element " << i;
    }
  }
}

TEST(AttentionGradient, IsTheSlopeOfTheDefinition) {
  expect_definition_slopes({{.heads = 1, .kv_heads = 1, .scale = 0.6F}});
  expect_definition_slopes({{.heads = 4, .kv_heads = 2, .scale = 0.6F}});
  expect_definition_slopes({{.heads = 2, .kv_heads = 1, .scale = 0.6F, .softcap = 1.5F}});
  expect_definition_slopes({{.heads = 2, .kv_heads = 2, .scale = 0.6F, .window = 2}});
  expect_definition_slopes(
      {{.heads = 3, .kv_heads = 1, .scale = 0.6F, .softcap = 2, .window = 3}, 1, 4, 1, 5});
}

/// More queries than go back together, with and without a window that leaves the first behind.
TEST(AttentionGradient, IsTheSlopeOfManyTokens) {
  expect_definition_slopes({{.heads = 1, .kv_heads = 1, .scale = 0.6F}, 1, 70});
  expect_definition_slopes({{.heads = 2, .kv_heads = 1, .scale = 0.6F, .window = 20}, 1, 70});
}

/// Large scores overflow the exponential unless the largest is subtracted.
TEST(AttentionGradient, StandsLargeScores) {
  const AttentionCase test{{.heads = 1, .kv_heads = 1, .scale = 1}, 1, 3, 1, 1};
  const AttentionGraph graph(test);
  Tape tape(graph.graph, {}, graph.inputs, {});
  std::ranges::copy(std::vector{30.0F, 30.0F, 30.0F}, tape.data(graph.inputs[0]).begin());
  std::ranges::copy(std::vector{1.0F, 10.0F, 20.0F}, tape.data(graph.inputs[1]).begin());
  std::ranges::copy(std::vector{1.0F, 2.0F, 3.0F}, tape.data(graph.inputs[2]).begin());
  tape.forward({});
  std::ranges::fill(tape.gradient(graph.output), 1.0F);
  tape.backward(graph.output);
  // Each token sees itself alone.
  EXPECT_THAT(tape.gradient(graph.inputs[2]), testing::ElementsAre(1, 1, 1));
  EXPECT_THAT(tape.gradient(graph.inputs[0]), testing::Each(testing::FloatNear(0, 1e-30F)));
}

TEST(AttentionGradient, MayBeWantedOfSomeInputs) {
  const AttentionCase test{{.heads = 2, .kv_heads = 1, .scale = 0.6F}};
  const AttentionGraph graph(test);
  const auto gradient_of = [&](ValueId of, const std::vector<ValueId>& wanted) {
    Tape tape(graph.graph, {}, wanted, {});
    Random random(3);
    for (const ValueId id : graph.inputs) {
      for (float& number : tape.data(id)) number = static_cast<float>(random.normal());
    }
    tape.forward({});
    std::ranges::fill(tape.gradient(graph.output), 1.0F);
    tape.backward(graph.output);
    return std::vector<float>(tape.gradient(of).begin(), tape.gradient(of).end());
  };
  for (const ValueId id : graph.inputs) {
    EXPECT_EQ(gradient_of(id, {id}), gradient_of(id, graph.inputs));
  }
}

TEST(AttentionGradient, RejectsStates) {
  ir::Graph graph;
  const ValueId q = graph.add_input("q", ir::test::float_type({3, 4}));
  const ValueId keys = graph.add_input("keys", ir::test::float_type({1, 5, 4}));
  const auto places = [&](const char* name) {
    return graph.add_constant(name, ir::Tensor(ir::ElementType::kInt32, {3}));
  };
  graph.add_output(graph.add_node("attention", ir::Attention{},
                                  {q, keys, keys, places("slots"), places("positions")}));
  ir::test::expect_error(ErrorKind::kUnsupported,
                         "node 'attention' (Attention) with states has no gradient",
                         [&] { Tape(graph, {}, std::vector{q}, {}); });
}

/// Pairs are complex numbers: y = x e^(i angle), so the gradient is dy e^(-i angle).
void expect_turned_back(ir::RotaryPairing pairing) {
  constexpr std::size_t kSize = 6;
  constexpr std::size_t kPairs = 2;  // of the numbers of a head; two are not turned
  const std::vector<std::int32_t> positions = {3, 0};
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({1, 2, 2 * kSize}));
  const ValueId at = graph.add_constant("at", ir::Tensor::from<std::int32_t>({2}, positions));
  std::vector<float> angles(4 * kPairs);
  for (std::size_t i = 0; i < angles.size(); ++i) angles[i] = 0.3F * static_cast<float>(i + 1);
  const auto table = [&](const char* name, auto function) {
    std::vector<float> values;
    for (const float angle : angles) values.push_back(static_cast<float>(function(angle)));
    return graph.add_constant(name, ir::test::floats({4, kPairs}, values));
  };
  const ValueId cos = table("cos", [](double angle) { return std::cos(angle); });
  const ValueId sin = table("sin", [](double angle) { return std::sin(angle); });
  const ValueId y = graph.add_node("y", ir::Rotary{2, 2 * kPairs, pairing}, {x, at, cos, sin});
  graph.add_output(y);
  Tape tape(graph, {}, std::vector{x}, {});
  tape.forward({});
  const std::vector<float> dy = output_weights(4 * kSize);
  std::ranges::copy(dy, tape.gradient(y).begin());
  tape.backward(y);
  for (std::size_t head = 0; head < 4; ++head) {
    const float* from = dy.data() + head * kSize;
    const std::span<float> dx = tape.gradient(x).subspan(head * kSize, kSize);
    for (std::size_t i = 0; i < kPairs; ++i) {
      const bool halves = pairing == ir::RotaryPairing::kNeox;
      const std::size_t a = halves ? i : 2 * i;
      const std::size_t b = halves ? i + kPairs : 2 * i + 1;
      const auto position = static_cast<std::size_t>(positions[head / 2]);
      const auto turned = std::complex<double>(from[a], from[b]) *
                          std::polar(1.0, -double{angles[position * kPairs + i]});
      // Three roundings of numbers below 4.
      EXPECT_NEAR(dx[a], turned.real(), 3 * 0x1p-22);
      EXPECT_NEAR(dx[b], turned.imag(), 3 * 0x1p-22);
    }
    for (std::size_t i = 2 * kPairs; i < kSize; ++i) EXPECT_EQ(dx[i], from[i]);
  }
}

TEST(RotaryGradient, TurnsBack) {
  expect_turned_back(ir::RotaryPairing::kNeox);
  expect_turned_back(ir::RotaryPairing::kInterleaved);
}

/// A router: the two largest of softmax(x), whose shares weigh products with the chosen matrices.
TEST(ExpertGradient, FlowsThroughTheChoice) {
  ir::Graph graph;
  const ValueId scores = graph.add_input("scores", ir::test::float_type({2, 3}));
  const ValueId x = graph.add_input("x", ir::test::float_type({2, 1}));
  const ValueId all = graph.add_node("softmax", ir::Softmax{.axis = 1}, {scores});
  const ValueId chosen = graph.add_node("chosen", ir::TopK{.axis = 1, .k = 2}, {all});
  const ValueId best = graph.add_node("best", ir::GatherElements{.axis = 1}, {all, chosen});
  const ValueId w = graph.add_constant("w", ir::test::floats({3, 1, 1}, {1, 10, 100}));
  const ValueId parts = graph.add_node("parts", ir::ExpertProduct{}, {x, w, chosen});
  const ValueId rows = graph.add_node("rows", ir::Reshape{{2, 2}}, {parts});
  const ValueId y = graph.add_node("y", ir::Binary{ir::BinaryKind::kMul, {}}, {rows, best});
  graph.add_output(y);
  Tape tape(graph, {}, std::vector{scores, x}, {});
  const std::vector<float> s = {0, 1, 2, 3, 2, 0};
  std::ranges::copy(s, tape.data(scores).begin());
  std::ranges::copy(std::vector{2.0F, 3.0F}, tape.data(x).begin());
  tape.forward({});
  std::ranges::fill(tape.gradient(y), 1.0F);
  tape.backward(y);
  // The sum of a row is x sum_e w_e p_e over the two largest p, whose slope by score i is
  // x p_i ([i chosen] w_i - sum_e w_e p_e).
  const float weights[2][3] = {{0, 10, 100}, {1, 10, 0}};
  for (std::size_t row = 0; row < 2; ++row) {
    double sum = 0;
    double mean = 0;
    for (std::size_t i = 0; i < 3; ++i) sum += std::exp(double{s[row * 3 + i]});
    for (std::size_t i = 0; i < 3; ++i) {
      mean += std::exp(double{s[row * 3 + i]}) / sum * double{weights[row][i]};
    }
    EXPECT_NEAR(tape.gradient(x)[row], mean, 1e-5 * mean);
    for (std::size_t i = 0; i < 3; ++i) {
      const double p = std::exp(double{s[row * 3 + i]}) / sum;
      // Sums of few terms up to 100 in float32.
      EXPECT_NEAR(tape.gradient(scores)[row * 3 + i],
                  (row == 0 ? 2 : 3) * p * (double{weights[row][i]} - mean), 300 * 8 * 0x1p-24);
    }
  }
}

TEST(ExpertGradient, RejectsIndicesThatNoExpertHas) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({1, 2}));
  const ValueId w = graph.add_constant("w", ir::test::floats({2, 1, 2}, {1, 2, 3, 4}));
  const ValueId chosen =
      graph.add_input("chosen", ir::dense_type(ir::ElementType::kInt32, Shape{1, 1}));
  graph.add_output(graph.add_node("y", ir::ExpertProduct{}, {x, w, chosen}));
  Tape tape(graph, {}, std::vector{x}, {});
  tape.data(chosen)[0] = 2;
  ir::test::expect_error(ErrorKind::kShape, "2", [&] { tape.forward({}); });
}

}  // namespace
}  // namespace halftone::gradient
