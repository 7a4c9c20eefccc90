// SPDX-License-Identifier: Apache-2.0
// A sample has the same bits in every batch, for every pair of encodings.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kSamples = 64;

/// A layer with encoded weights.
struct BatchCase {
  std::string name;
  ir::Operator op;
  ir::Shape x;  ///< of the input, or of the gates
  ir::Shape w;
};

/// @param x_bits  0: the input stays float32
ir::Graph graph_of(const BatchCase& layer, int w_bits, int x_bits) {
  Random random(61);
  ir::Graph graph;
  ir::Operator op = layer.op;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  if (x_bits != 0) {
    const auto encoding = testing::activation_encoding(x_bits, true, random);
    if (auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      recurrent->state_encoding = encoding;
    } else {
      x = graph.add_node("encode", ir::Encode{encoding}, {x});
    }
  }
  const auto rows = static_cast<std::size_t>(layer.w[0]);
  ir::EncodedTensor weights =
      testing::random_weights(rows, layer.w.element_count() / rows, {w_bits, true}, random);
  weights.shape = layer.w;
  const auto w = graph.add_constant("w", std::move(weights));
  graph.add_output(graph.add_node("layer", std::move(op), {x, w}));
  return graph;
}

/// The output for all samples, `batch` at a time; the last run is padded with zeros.
std::vector<float> run_in_batches(const ir::Graph& graph, PlanOptions options,
                                  std::span<const float> samples) {
  Session session(make_plan(graph, options));
  const std::size_t each = samples.size() / kSamples;
  std::vector<float> outputs;
  for (std::size_t first = 0; first < kSamples; first += options.batch) {
    const std::size_t count = std::min(options.batch, kSamples - first);
    const auto input = session.input_as<float>(0);
    std::ranges::fill(input, 0.0F);
    std::ranges::copy(samples.subspan(first * each, count * each), input.begin());
    session.run();
    const ir::Tensor y = session.output_tensor(0);
    const auto found = y.as<float>();
    outputs.insert(
        outputs.end(), found.begin(),
        found.begin() + static_cast<std::ptrdiff_t>(found.size() / options.batch * count));
  }
  return outputs;
}

class SampleInABatch : public ::testing::TestWithParam<BatchCase> {};

TEST_P(SampleInABatch, HasTheSameBitsForEveryPairOfBits) {
  Random random(62);
  const ir::Tensor samples = testing::random_tensor(GetParam().x.with_batch(kSamples), random);
  for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
    for (int x_bits = 0; x_bits <= numerics::kMaxBits; ++x_bits) {
      for (const bool int8 : {true, false}) {
        SCOPED_TRACE(std::to_string(w_bits) + "/" + std::to_string(x_bits) + (int8 ? " int8" : ""));
        const ir::Graph graph = graph_of(GetParam(), w_bits, x_bits);
        PlanOptions options{.batch = kSamples, .int8_activations = int8};
        // Only oneDNN's order of sums may follow the batch.
        options.float_order = FloatOrder::kFixed;
        const auto expected = run_in_batches(graph, options, samples.as<float>());
        for (const std::size_t batch : {1U, 2U, 7U}) {
          options.batch = batch;
          const auto found = run_in_batches(graph, options, samples.as<float>());
          ASSERT_EQ(found.size(), expected.size());
          EXPECT_EQ(std::memcmp(found.data(), expected.data(), found.size() * sizeof(float)), 0)
              << "batch " << batch;
        }
      }
    }
  }
}

std::vector<BatchCase> batch_cases() {
  const auto n = ir::kBatch;
  const auto recurrent = [](ir::RecurrentKind kind) {
    ir::Recurrent op;
    op.kind = kind;
    op.batch_major = true;
    if (kind == ir::RecurrentKind::kRnn) op.activations[0] = {ir::ActivationKind::kTanh, 0, 0};
    return op;
  };
  const ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
  ir::Conv depthwise = conv;
  depthwise.groups = 12;
  return {
      {"FullyConnected", ir::FullyConnected{{ir::ActivationKind::kTanh}}, {n, 70}, {37, 70}},
      {"FullyConnectedRows", ir::FullyConnected{}, {n, 3, 33}, {20, 33}},
      {"Conv", conv, {n, 5, 4, 12}, {20, 3, 3, 12}},
      {"ConvOfFewOutputs", conv, {n, 5, 4, 12}, {3, 3, 3, 12}},
      {"ConvDepthwise", depthwise, {n, 5, 4, 12}, {12, 3, 3, 1}},
      {"Rnn", recurrent(ir::RecurrentKind::kRnn), {n, 3, 21}, {21, 21}},
      {"Gru", recurrent(ir::RecurrentKind::kGru), {n, 3, 63}, {63, 21}},
      {"Lstm", recurrent(ir::RecurrentKind::kLstm), {n, 3, 84}, {84, 21}},
  };
}

INSTANTIATE_TEST_SUITE_P(Layers, SampleInABatch, ::testing::ValuesIn(batch_cases()),
                         [](const auto& layer) { return layer.param.name; });

TEST(ArithmeticOfALayer, DoesNotDependOnTheLayerBesideIt) {
  Random random(63);
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 40}));
  const auto codes =
      graph.add_node("encode", ir::Encode{testing::activation_encoding(2, true, random)}, {x});
  for (const int bits : {2, 8}) {
    const auto w = graph.add_constant(std::to_string(bits),
                                      testing::random_weights(16, 40, {bits, true}, random));
    graph.add_output(
        graph.add_node(std::to_string(bits) + "-bit", ir::FullyConnected{}, {codes, w}));
  }
  for (const std::size_t batch : {1U, 64U}) {
    const auto plan = testing::expect_reference_result(graph, {.batch = batch}, 0.1F);
    for (const Step& step : plan->steps()) {
      if (step.op != "FullyConnected") continue;
      EXPECT_EQ(step.arithmetic, step.name == "2-bit" ? Arithmetic::kBits : Arithmetic::kLevels);
    }
  }
}

}  // namespace
}  // namespace halftone::runtime
