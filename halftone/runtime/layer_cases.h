// SPDX-License-Identifier: Apache-2.0
// Test support: layers of codes that must give the same bits however they run.
#pragma once

#include <algorithm>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/ops/traits.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime::testing {

inline constexpr std::size_t kSamples = 64;

/// A layer with encoded weights.
struct LayerCase {
  std::string name;
  ir::Operator op;
  ir::Shape x;  ///< of the input, or of the gates
  ir::Shape w;
};

/// @param x_bits  0: the input stays float32
inline ir::Graph graph_of(const LayerCase& layer, int w_bits, int x_bits) {
  Random random(61);
  ir::Graph graph;
  ir::Operator op = layer.op;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  if (x_bits != 0) {
    const auto encoding = activation_encoding(x_bits, true, random);
    if (auto* recurrent = std::get_if<ir::Recurrent>(&op)) {
      recurrent->state_encoding = encoding;
    } else {
      x = graph.add_node("encode", ir::Encode{encoding}, {x});
    }
  }
  const auto rows = static_cast<std::size_t>(layer.w[0]);
  ir::EncodedTensor weights =
      random_weights(rows, layer.w.element_count() / rows, {w_bits, true}, random);
  weights.shape = layer.w;
  const auto w = graph.add_constant("w", std::move(weights));
  graph.add_output(graph.add_node("layer", std::move(op), {x, w}));
  return graph;
}

/// The output for all samples, `batch` at a time; the last run is padded with zeros.
inline std::vector<float> run_in_batches(const ir::Graph& graph, PlanSettings options,
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

inline bool same_bits(std::span<const float> a, std::span<const float> b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size_bytes()) == 0;
}

/// The graph with an attribute of its layer.
inline ir::Graph with_arithmetic(ir::Graph graph, ir::Arithmetic arithmetic) {
  const ir::NodeId layer = graph.topological_order().back();
  ir::Operator op = graph.node(layer).op;
  *ir::arithmetic(op) = arithmetic;
  graph.replace_node(layer, std::move(op), graph.node(layer).inputs);
  return graph;
}

inline const ir::Node& layer_of(const ir::Graph& graph) {
  return graph.node(graph.topological_order().back());
}

inline std::vector<LayerCase> layer_cases() {
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

}  // namespace halftone::runtime::testing
