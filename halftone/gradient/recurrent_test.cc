// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "halftone/gradient/testing.h"

namespace halftone::gradient {
namespace {

using ir::ActivationKind;
using ir::Recurrent;
using ir::RecurrentKind;
using ir::Shape;
using ir::ValueId;
using ir::test::expect_error;

constexpr ir::Dim kSteps = 3;
constexpr ir::Dim kSamples = 2;
constexpr ir::Dim kHidden = 4;
const Shape kNone{0};

/// @param with  changes the plain operator
template <typename Change>
Recurrent recurrent(RecurrentKind kind, Change&& change) {
  Recurrent op;
  op.kind = kind;
  if (kind != RecurrentKind::kLstm) op.activations[1] = {ActivationKind::kTanh};
  change(op);
  return op;
}
Recurrent recurrent(RecurrentKind kind) {
  return recurrent(kind, [](Recurrent&) {});
}

TapeCase recurrent_case(const Recurrent& op, std::vector<Shape> others = {}) {
  const ir::Dim gates = static_cast<ir::Dim>(num_gates(op.kind)) * kHidden;
  const Shape x = op.batch_major ? Shape{kSamples, kSteps, gates} : Shape{kSteps, kSamples, gates};
  TapeCase test{op, {x, {gates, kHidden}}};
  for (Shape& shape : others) test.shapes.push_back(std::move(shape));
  return test;
}

std::vector<TapeCase> recurrent_cases() {
  const Shape state{kSamples, kHidden};
  const Shape shared_state{1, kHidden};
  using Kind = RecurrentKind;
  return {
      recurrent_case(recurrent(Kind::kRnn)),
      recurrent_case(recurrent(Kind::kRnn, [](Recurrent& op) { op.reverse = true; }),
                     {kNone, shared_state}),
      recurrent_case(recurrent(Kind::kGru), {kNone, state}),
      recurrent_case(recurrent(Kind::kGru,
                               [](Recurrent& op) {
                                 op.linear_before_reset = true;
                                 op.batch_major = true;
                               }),
                     {{kHidden}, shared_state}),
      recurrent_case(recurrent(Kind::kGru, [](Recurrent& op) { op.linear_before_reset = true; })),
      recurrent_case(recurrent(Kind::kLstm)),
      recurrent_case(recurrent(Kind::kLstm,
                               [](Recurrent& op) {
                                 op.batch_major = true;
                                 op.with_cell = true;
                               }),
                     {kNone, state, shared_state, kNone, {3 * kHidden}}),
      recurrent_case(recurrent(Kind::kLstm,
                               [](Recurrent& op) {
                                 op.reverse = true;
                                 op.input_forget = true;
                               }),
                     {kNone, kNone, state, kNone, {3 * kHidden}}),
      recurrent_case(recurrent(Kind::kLstm,
                               [](Recurrent& op) {
                                 op.clip = 1.2F;
                                 op.cell_clip = 0.4F;
                                 op.activations[2] = {ActivationKind::kSoftsign};
                               })),
  };
}

TEST(TapeRecurrent, GradientsAreTheSlopes) {
  for (const TapeCase& test : recurrent_cases()) expect_true_gradients(test);
}

TEST(TapeRecurrent, OutputsAreTheDefinitions) {
  for (const TapeCase& test : recurrent_cases()) {
    expect_true_outputs(test);
    TapeCase encoded = test;
    std::get<Recurrent>(encoded.op).state_encoding =
        std::make_shared<const numerics::MatrixEncoding>(
            numerics::tensor_encoding(numerics::range_basis(3, -1.1F, 1.2F)));
    expect_true_outputs(encoded);
  }
}

/// The gradients of one case, for the same random numbers each time.
std::vector<float> gradients(const TapeCase& test) {
  const OneNode node = one_node(test);
  Tape tape(node.graph, {}, node.wanted, {});
  fill_input(test, node, tape);
  tape.forward({});
  std::ranges::fill(tape.gradient(node.output), 1.0F);
  tape.backward(node.output);
  std::vector<float> all;
  for (const ValueId id : node.wanted) {
    all.insert(all.end(), tape.gradient(id).begin(), tape.gradient(id).end());
  }
  return all;
}

TEST(TapeRecurrent, FinelyEncodedStatesPassTheGradientsOfStates) {
  for (const RecurrentKind kind :
       {RecurrentKind::kRnn, RecurrentKind::kGru, RecurrentKind::kLstm}) {
    const std::vector<float> of_states = gradients(recurrent_case(recurrent(kind)));
    const std::vector<float> of_codes = gradients(recurrent_case(recurrent(kind, [](Recurrent& op) {
      op.state_encoding = std::make_shared<const numerics::MatrixEncoding>(
          numerics::tensor_encoding(numerics::range_basis(8, -1, 1)));
    })));
    // Half a gap is 1/255; sums of some ten terms and their slopes move by a few times that.
    EXPECT_THAT(of_codes, testing::Pointwise(testing::FloatNear(0.05F), of_states));
  }
}

/// Moving a level moves the output as its gradient says, as long as no code changes and what is
/// encoded does not depend on a level: in the first step.
TEST(TapeRecurrent, GathersTheGradientOfTheLevels) {
  const numerics::Basis basis = numerics::make_basis(std::vector{0.3F, 0.6F}, 0.05F);
  for (const RecurrentKind kind : {RecurrentKind::kRnn, RecurrentKind::kLstm}) {
    Recurrent op = recurrent(kind);
    op.state_encoding =
        std::make_shared<const numerics::MatrixEncoding>(numerics::tensor_encoding(basis));
    TapeCase test = recurrent_case(op, {kNone, {kSamples, kHidden}});
    test.shapes[0][0] = 1;
    const OneNode node = one_node(test);
    const auto output_sum = [&](float offset, std::vector<double>* gradient) {
      numerics::Basis moved = basis;
      moved.offset += offset;
      const numerics::LevelTable levels(moved);
      Tape tape(node.graph, {}, node.wanted, {{node.output, &levels}});
      fill_input(test, node, tape);
      tape.forward({});
      const std::vector<float> ones(tape.data(node.output).size(), 1.0F);
      std::ranges::copy(ones, tape.gradient(node.output).begin());
      tape.backward(node.output);
      const auto found = tape.level_gradient(node.output);
      if (gradient != nullptr) gradient->assign(found.begin(), found.end());
      return weighted_sum(tape.data(node.output), ones);
    };
    std::vector<double> gradient;
    output_sum(0, &gradient);
    double sum = 0;
    for (const double each : gradient) sum += each;
    const double slope = (output_sum(1e-2F, nullptr) - output_sum(-1e-2F, nullptr)) / 2e-2;
    EXPECT_NEAR(sum, slope, 2e-3 * (1 + std::abs(slope))) << to_string(kind);
  }
}

TEST(TapeRecurrent, RefusesLengthsAndUnknownFunctions) {
  TapeCase lengths =
      recurrent_case(recurrent(RecurrentKind::kRnn), {kNone, kNone, kNone, {kSamples}});
  lengths.fixed = {5, ir::ElementType::kInt32, {1, 3}};
  const TapeCase steps = recurrent_case(recurrent(
      RecurrentKind::kRnn, [](Recurrent& op) { op.activations[0] = {ActivationKind::kFloor}; }));
  const auto try_tape = [](const TapeCase& test) {
    const OneNode node = one_node(test);
    Tape(node.graph, {}, node.wanted, {});
  };
  expect_error(ErrorKind::kUnsupported, "node 'node' (Recurrent) has no gradient",
               [&] { try_tape(lengths); });
  expect_error(ErrorKind::kUnsupported, "Floor has no gradient", [&] { try_tape(steps); });
}

}  // namespace
}  // namespace halftone::gradient
