// SPDX-License-Identifier: Apache-2.0
// Recurrent layers with every product, compared with the reference implementation.
#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "halftone/base/parallel.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::RecurrentKind;
using numerics::Granularity;
using testing::WeightFormat;

struct RecurrentLayer {
  ir::Recurrent op;
  ir::Dim steps = 5;
  ir::Dim hidden = 21;
  std::optional<WeightFormat> weights{};
  bool states = false;  ///< starts with given states
  bool shared = false;  ///< the same for all samples
  bool lengths = false;
  bool peepholes = false;
};

ir::Recurrent plain(RecurrentKind kind) {
  ir::Recurrent op;
  op.kind = kind;
  if (kind == RecurrentKind::kRnn) op.activations[0] = {ir::ActivationKind::kTanh, 0, 0};
  return op;
}

ir::Graph graph_of(const RecurrentLayer& layer) {
  Random random(51);
  ir::Graph graph;
  const ir::Recurrent& op = layer.op;
  const ir::Dim gates = layer.hidden * static_cast<ir::Dim>(ir::num_gates(op.kind));
  const ir::Shape x = op.batch_major ? ir::Shape{ir::kBatch, layer.steps, gates}
                                     : ir::Shape{layer.steps, ir::kBatch, gates};
  std::vector<ir::ValueId> inputs(ir::kPeepholes + 1, ir::kAbsent);
  inputs[ir::kGates] = graph.add_input("x", ir::test::float_type(x));
  const auto rows = static_cast<std::size_t>(gates);
  const auto cols = static_cast<std::size_t>(layer.hidden);
  inputs[ir::kRecurrenceWeights] =
      layer.weights
          ? graph.add_constant("r", testing::random_weights(rows, cols, *layer.weights, random))
          : graph.add_constant("r", testing::random_tensor({gates, layer.hidden}, random, 0.3F));
  if (op.linear_before_reset) {
    inputs[ir::kRecurrenceBias] =
        graph.add_constant("b", testing::random_tensor({layer.hidden}, random));
  }
  if (layer.states) {
    const ir::ValueType type = ir::test::float_type({layer.shared ? 1 : ir::kBatch, layer.hidden});
    inputs[ir::kInitialHidden] = graph.add_input("h", type);
    if (op.kind == RecurrentKind::kLstm) inputs[ir::kInitialCell] = graph.add_input("c", type);
  }
  if (layer.lengths) {
    inputs[ir::kSequenceLengths] =
        graph.add_input("lengths", ir::dense_type(ir::ElementType::kInt32, {ir::kBatch}));
  }
  if (layer.peepholes) {
    inputs[ir::kPeepholes] =
        graph.add_constant("p", testing::random_tensor({3 * layer.hidden}, random));
  }
  graph.add_output(graph.add_node("layer", op, inputs));
  return graph;
}

void expect_definition(const RecurrentLayer& layer, const std::string& kernel, float tolerance,
                       bool int8 = false) {
  for (const std::size_t batch : {std::size_t{1}, std::size_t{2}, std::size_t{5}}) {
    const PlanSettings options{.batch = batch, .execution = {.int8_activations = int8}};
    const auto plan = testing::expect_reference_result(graph_of(layer), options, tolerance, batch);
    EXPECT_EQ(testing::kernel_of(*plan), kernel);
  }
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::kRnn, RecurrentKind::kGru, RecurrentKind::kLstm};

TEST(Recurrent, MatchesReferenceInFloat) {
  for (const RecurrentKind kind : kKinds) {
    for (const bool batch_major : {false, true}) {
      for (const bool reverse : {false, true}) {
        RecurrentLayer layer{plain(kind)};
        layer.op.batch_major = batch_major;
        layer.op.reverse = reverse;
        layer.states = !reverse;
        layer.shared = batch_major;
        layer.lengths = batch_major;
        expect_definition(layer, "packed_f32", 1e-5F);
      }
    }
  }
}

TEST(Recurrent, MatchesReferenceWithEveryAttribute) {
  RecurrentLayer gru{plain(RecurrentKind::kGru)};
  gru.op.linear_before_reset = true;
  expect_definition(gru, "packed_f32", 1e-5F);
  RecurrentLayer lstm{plain(RecurrentKind::kLstm)};
  lstm.states = lstm.peepholes = lstm.lengths = true;
  lstm.op.with_cell = lstm.op.carry = true;
  expect_definition(lstm, "packed_f32", 1e-5F);
  lstm.op.input_forget = true;
  lstm.op.clip = 0.7F;
  lstm.op.cell_clip = 0.4F;
  lstm.op.activations[0] = {ir::ActivationKind::kHardSigmoid, 0.2F, 0.5F};
  lstm.op.activations[2] = {ir::ActivationKind::kSoftsign, 0, 0};
  expect_definition(lstm, "packed_f32", 1e-5F);
}

TEST(Recurrent, MultipliesTheLevelsOfItsStates) {
  Random random(52);
  for (const RecurrentKind kind : kKinds) {
    for (const auto granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
      RecurrentLayer layer{plain(kind)};
      layer.op.state_encoding = testing::activation_encoding(2, true, random);
      const bool grouped = granularity == Granularity::kGroup;
      layer.weights = WeightFormat{1, true, granularity, grouped ? std::size_t{8} : 0};
      expect_definition(layer, grouped ? "packed_f32" : "xnor_popcount", 2e-4F);
    }
  }
}

TEST(Recurrent, DecodesIfStatesStayFloat) {
  for (const RecurrentKind kind : kKinds) {
    RecurrentLayer layer{plain(kind)};
    layer.weights = WeightFormat{3, true, Granularity::kChannel, 0};
    expect_definition(layer, "packed_f32", 1e-4F);
  }
  Random random(53);
  RecurrentLayer dense{plain(RecurrentKind::kLstm)};
  dense.op.state_encoding = testing::activation_encoding(8, true, random);
  dense.steps = 1;
  expect_definition(dense, "packed_f32", 1e-5F);
}

TEST(Recurrent, IsCloseToReferenceIn8BitIntegers) {
  Random random(54);
  for (const RecurrentKind kind : kKinds) {
    for (const int bits : {1, 3, 4, 8}) {
      RecurrentLayer layer{plain(kind)};
      layer.steps = 2;
      layer.weights = WeightFormat{bits, true, Granularity::kChannel, 0};
      expect_definition(layer, "int8_levels", 0.1F, true);
      layer.op.state_encoding = std::make_shared<const numerics::MatrixEncoding>(
          numerics::tensor_encoding(numerics::affine_basis(8, 1.0F / 127, 127)));
      if (bits > 1) expect_definition(layer, "int8_levels", 0.1F, true);
    }
  }
}

TEST(Recurrent, GivesTheSameBitsForAnyNumberOfThreads) {
  set_num_threads(3);
  RecurrentLayer layer{plain(RecurrentKind::kLstm)};
  layer.steps = 40;
  layer.hidden = 64;
  layer.states = layer.lengths = true;
  std::vector<ir::Tensor> expected;
  for (const int threads : {1, 3}) {
    const auto plan = make_plan(graph_of(layer), {.batch = 7, .threads = threads});
    Random random(55);
    const auto inputs = testing::random_inputs(plan->graph(), random);
    Session session(plan);
    auto found = session.run(inputs);
    if (threads == 1) {
      expected = std::move(found);
    } else {
      EXPECT_TRUE(testing::same_bytes(found, expected));
    }
  }
  set_num_threads(0);
}

TEST(Recurrent, LeavesComputedWeightsToTheReference) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({3, ir::kBatch, 8}));
  const auto r = graph.add_input("r", ir::test::float_type({8, 2}));
  graph.add_output(graph.add_node("layer", ir::Recurrent{}, {x, r}));
  const auto plan = testing::expect_reference_result(graph, {.batch = 2}, 0);
  EXPECT_EQ(testing::kernel_of(*plan), "reference");
}

}  // namespace
}  // namespace halftone::runtime
