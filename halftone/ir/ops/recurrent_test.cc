// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/recurrent.h"

#include <cmath>
#include <optional>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::floats;
using test::random_tensor;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;

/// Inputs in the order of RecurrentInput; absent ones are empty.
struct Inputs {
  Tensor gates;
  Tensor weights;
  std::optional<Tensor> bias{};
  std::optional<Tensor> hidden{};
  std::optional<Tensor> cell{};
  std::optional<Tensor> lengths{};
  std::optional<Tensor> peepholes{};
};

Tensor run(const Recurrent& op, const Inputs& in) {
  const auto pointer = [](const std::optional<Tensor>& t) { return t ? &*t : nullptr; };
  const std::vector<const Tensor*> inputs = {
      &in.gates,        &in.weights,         pointer(in.bias),     pointer(in.hidden),
      pointer(in.cell), pointer(in.lengths), pointer(in.peepholes)};
  return evaluate_operator(op, inputs);
}

Recurrent layer(RecurrentKind kind) {
  Recurrent op;
  op.kind = kind;
  if (kind == RecurrentKind::kRnn) op.activations[0] = {ActivationKind::kTanh, 0, 0};
  return op;
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::kRnn, RecurrentKind::kGru, RecurrentKind::kLstm};

Inputs random_inputs(RecurrentKind kind, Dim steps, Dim batch, Dim hidden) {
  const auto gates = static_cast<Dim>(num_gates(kind)) * hidden;
  return {random_tensor({steps, batch, gates}, 1), random_tensor({gates, hidden}, 2)};
}

double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Recurrent, ComputesTheFormulasOfAnRnn) {
  const Inputs in{
      floats({2, 1, 1}, {0.5F, -0.25F}), floats({1, 1}, {2}), {}, floats({1, 1}, {0.1F})};
  const double first = std::tanh(0.5 + 2 * 0.1);
  EXPECT_THAT(elements<float>(run(layer(RecurrentKind::kRnn), in)),
              Pointwise(FloatNear(1e-6F), {first, std::tanh(-0.25 + 2 * first)}));
}

TEST(Recurrent, ComputesTheFormulasOfAGru) {
  Inputs in{
      floats({1, 1, 3}, {0.5F, -0.25F, 1}), floats({3, 1}, {1, 2, 3}), {}, floats({1, 1}, {0.4F})};
  Recurrent op = layer(RecurrentKind::kGru);
  const double z = sigmoid(0.5 + 0.4);
  const double r = sigmoid(-0.25 + 0.8);
  const double n = std::tanh(1 + 3 * r * 0.4);
  EXPECT_NEAR(run(op, in).as<float>()[0], (1 - z) * n + z * 0.4, 1e-6);
  op.linear_before_reset = true;
  in.bias = floats({1}, {0.7F});
  const double linear = std::tanh(1 + r * (3 * 0.4 + 0.7));
  EXPECT_NEAR(run(op, in).as<float>()[0], (1 - z) * linear + z * 0.4, 1e-6);
}

TEST(Recurrent, ComputesTheFormulasOfAnLstm) {
  // Gates in the order i, o, forget, c; peepholes i, o, forget.
  Inputs in{floats({1, 1, 4}, {0.5F, -0.25F, 1, 2}),
            floats({4, 1}, {1, 2, 3, 4}),
            {},
            floats({1, 1}, {0.4F}),
            floats({1, 1}, {0.8F}),
            {},
            floats({3}, {0.1F, 0.2F, 0.3F})};
  Recurrent op;
  op.with_cell = true;
  const double i = sigmoid(0.5 + 0.4 + 0.08);
  const double forget = sigmoid(1 + 1.2 + 0.24);
  const double c = forget * 0.8 + i * std::tanh(2 + 1.6);
  const double o = sigmoid(-0.25 + 0.8 + 0.2 * c);
  EXPECT_THAT(elements<float>(run(op, in)), Pointwise(FloatNear(1e-6F), {o * std::tanh(c), c}));
  op.input_forget = true;
  EXPECT_NEAR(run(op, in).as<float>()[1], (1 - i) * 0.8 + i * std::tanh(3.6), 1e-6);
  op = {};
  op.cell_clip = 0.5F;
  const double clipped = sigmoid(-0.25 + 0.8 + 0.2 * 0.5);
  EXPECT_NEAR(run(op, in).as<float>()[0], clipped * std::tanh(0.5), 1e-6);
  op = {};
  op.clip = 0.25F;
  const double gate = sigmoid(0.25);
  const double cell = gate * 0.8 + gate * std::tanh(0.25);
  EXPECT_NEAR(run(op, in).as<float>()[0], gate * std::tanh(cell), 1e-6);
}

TEST(Recurrent, KeepsBatchMajorRowsLikeTransposedOnes) {
  for (const RecurrentKind kind : kKinds) {
    Inputs in = random_inputs(kind, 4, 3, 5);
    Recurrent op = layer(kind);
    const Tensor expected = evaluate(Transpose{{1, 0, 2}}, run(op, in));
    in.gates = evaluate(Transpose{{1, 0, 2}}, in.gates);
    op.batch_major = true;
    EXPECT_EQ(elements<float>(run(op, in)), elements<float>(expected));
  }
}

TEST(Recurrent, ReversesTheSequence) {
  for (const RecurrentKind kind : kKinds) {
    Inputs in = random_inputs(kind, 4, 2, 3);
    Recurrent op = layer(kind);
    const Tensor expected = evaluate(Slice{0, 3, -1, 4}, run(op, in));
    in.gates = evaluate(Slice{0, 3, -1, 4}, in.gates);
    op.reverse = true;
    EXPECT_EQ(elements<float>(run(op, in)), elements<float>(expected));
  }
}

TEST(Recurrent, EndsEachSequenceAtItsLength) {
  for (const RecurrentKind kind : kKinds) {
    for (const bool reverse : {false, true}) {
      Inputs in = random_inputs(kind, 4, 3, 2);
      Recurrent op = layer(kind);
      op.reverse = reverse;
      in.lengths = test::tensor<std::int32_t>({3}, {2, 0, 9});
      const Tensor y = run(op, in);
      const Inputs shorter{evaluate(Slice{0, 0, 1, 2}, in.gates), in.weights.clone()};
      const Tensor two = run(op, shorter);
      const Inputs whole{in.gates.clone(), in.weights.clone()};
      const Tensor four = run(op, whole);
      for (std::size_t t = 0; t < 4; ++t) {
        for (std::size_t j = 0; j < 2; ++j) {
          EXPECT_EQ(y.as<float>()[t * 6 + j], t < 2 ? two.as<float>()[t * 6 + j] : 0);
          EXPECT_EQ(y.as<float>()[t * 6 + 2 + j], 0);
          EXPECT_EQ(y.as<float>()[t * 6 + 4 + j], four.as<float>()[t * 6 + 4 + j]);
        }
      }
    }
  }
}

TEST(Recurrent, CarriesTheLastStatesOn) {
  Inputs in = random_inputs(RecurrentKind::kLstm, 4, 2, 2);
  in.lengths = test::tensor<std::int32_t>({2}, {2, 0});
  Recurrent op;
  op.with_cell = true;
  op.carry = true;
  const Tensor y = run(op, in);
  for (std::size_t j = 0; j < 4; ++j) {
    EXPECT_NE(y.as<float>()[8 + j], 0);
    EXPECT_EQ(y.as<float>()[24 + j], y.as<float>()[8 + j]);
    EXPECT_EQ(y.as<float>()[28 + j], 0);
  }
}

TEST(Recurrent, EncodesItsStates) {
  // The levels are -3, -1, 1, 3: an initial h of 0.2 becomes 1.
  Inputs in{floats({1, 1, 1}, {0.5F}), floats({1, 1}, {0.25F}), {}, floats({1, 1}, {0.2F})};
  Recurrent op = layer(RecurrentKind::kRnn);
  op.state_encoding = test::odd_encoding();
  EXPECT_NEAR(run(op, in).as<float>()[0], std::tanh(0.5 + 0.25), 1e-6);
  // In a GRU, r * h is encoded, while z multiplies h itself.
  Inputs gru{floats({1, 1, 3}, {0, 0, 0}), floats({3, 1}, {0, 0, 1}), {}, floats({1, 1}, {-4})};
  op = layer(RecurrentKind::kGru);
  op.state_encoding = test::odd_encoding();
  EXPECT_NEAR(run(op, gru).as<float>()[0], 0.5 * std::tanh(-3) + 0.5 * -4, 1e-6);
}

TEST(Recurrent, SharesOneInitialStateAmongSamples) {
  Inputs in = random_inputs(RecurrentKind::kGru, 2, 2, 3);
  in.hidden = floats({1, 3}, {1, 2, 3});
  const Tensor shared = run(layer(RecurrentKind::kGru), in);
  in.hidden = floats({2, 3}, {1, 2, 3, 1, 2, 3});
  EXPECT_EQ(elements<float>(run(layer(RecurrentKind::kGru), in)), elements<float>(shared));
}

TEST(Recurrent, TakesNoStepsSamplesOrUnits) {
  for (const auto& shape : {Shape{0, 2, 8}, Shape{2, 0, 8}}) {
    const Inputs in{Tensor(ElementType::kFloat32, shape), counting({8, 2})};
    EXPECT_EQ(run({}, in).shape(), (Shape{shape[0], shape[1], 2}));
  }
  const Inputs none{Tensor(ElementType::kFloat32, {2, 2, 0}),
                    Tensor(ElementType::kFloat32, {0, 0})};
  EXPECT_EQ(run({}, none).shape(), (Shape{2, 2, 0}));
}

TEST(Recurrent, InfersTypes) {
  Recurrent op;
  EXPECT_EQ(test::infer_shape(op, {{7, kBatch, 8}, {8, 2}}), (Shape{7, kBatch, 2}));
  op.with_cell = true;
  op.batch_major = true;
  EXPECT_EQ(test::infer_shape(op, {{kBatch, 7, 8}, {8, 2}}), (Shape{kBatch, 7, 4}));
  const ValueType codes{{8, 2}, {ElementType::kFloat32, test::odd_encoding()}};
  EXPECT_EQ(test::infer(op, {float_type({kBatch, 7, 8}), codes}), float_type({kBatch, 7, 4}));
}

TEST(Recurrent, RejectsInvalidOperands) {
  const struct {
    std::vector<Shape> inputs;
    std::string text;
  } cases[] = {
      {{{2, 3}, {8, 2}}, "gates: expected three axes, found [2, 3]"},
      {{{kBatch, 1, 8}, {8, 2}}, "gates: expected a known number of steps, found [N, 1, 8]"},
      {{{2, 1, 7}, {8, 2}}, "gates: expected 4 of equal size, found [2, 1, 7]"},
      {{{2, 1, 8}, {8, 3}}, "recurrence weights: expected [8, 2], found [8, 3]"},
  };
  for (const auto& [inputs, text] : cases) {
    expect_error(ErrorKind::kShape, text,
                 [&, &shapes = inputs] { test::infer_shape(Recurrent{}, shapes); });
  }
  const auto infer_with = [](const Recurrent& op, std::size_t input, const ValueType& type) {
    const ValueType gates = float_type({2, 3, static_cast<Dim>(2 * num_gates(op.kind))});
    const ValueType weights = float_type({gates.shape[2], 2});
    std::vector<const ValueType*> inputs(kPeepholes + 1, nullptr);
    inputs[kGates] = &gates;
    inputs[kRecurrenceWeights] = &weights;
    inputs[input] = &type;
    infer_output(op, inputs);
  };
  Recurrent gru = layer(RecurrentKind::kGru);
  gru.linear_before_reset = true;
  const struct {
    Recurrent op;
    std::size_t input;
    ValueType type;
    std::string text;
  } optional[] = {
      {gru, kRecurrenceBias, float_type({3}), "input 2: expected [2], found [3]"},
      {{}, kInitialHidden, float_type({2, 2}), "input 3: expected [3, 2], found [2, 2]"},
      {{}, kInitialCell, float_type({3, 3}), "input 4: expected [3, 2], found [3, 3]"},
      {{}, kSequenceLengths, float_type({3}), "lengths: expected int32, found float32[3]"},
      {{},
       kSequenceLengths,
       dense_type(ElementType::kInt32, {2}),
       "input 5: expected [3], found [2]"},
      {{}, kPeepholes, float_type({8}), "input 6: expected [6], found [8]"},
      {gru, kPeepholes, float_type({6}), "only an LSTM takes an initial cell and peepholes"},
      {{},
       kRecurrenceBias,
       float_type({2}),
       "only a GRU with linear_before_reset takes a recurrence bias"},
  };
  for (const auto& [op, input, type, text] : optional) {
    expect_error(ErrorKind::kShape, text,
                 [&, &o = op, &i = input, &t = type] { infer_with(o, i, t); });
  }
}

TEST(Recurrent, RejectsContradictoryAttributes) {
  Recurrent cell = layer(RecurrentKind::kRnn);
  cell.with_cell = true;
  Recurrent reset = layer(RecurrentKind::kRnn);
  reset.linear_before_reset = true;
  Recurrent carry;
  carry.carry = carry.reverse = true;
  Recurrent bound;
  bound.clip = -1;
  const std::pair<Recurrent, std::string> cases[] = {
      {cell, "only an LSTM takes with_cell, input_forget and cell_clip"},
      {reset, "only a GRU takes linear_before_reset"},
      {carry, "carry: expected a sequence that is not reversed"},
      {bound, "clip and cell_clip: expected finite values of at least 0"},
  };
  for (const auto& [op, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&o = op] {
      test::infer_shape(o, {{2, 1, 12}, {12, 3}});
    });
  }
}

TEST(Recurrent, ShowsItsAttributes) {
  EXPECT_EQ(attributes(Recurrent{}), "LSTM");
  Recurrent op;
  op.reverse = op.batch_major = true;
  op.clip = 2;
  op.state_encoding = test::odd_encoding();
  EXPECT_EQ(attributes(op), "LSTM reverse batch_major clip=2.000000 state=basis(2 bits, tensor)");
  EXPECT_FALSE(op == Recurrent{});
  EXPECT_TRUE(op == Recurrent(op));
}

}  // namespace
}  // namespace halftone::ir
