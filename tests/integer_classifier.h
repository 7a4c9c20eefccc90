// SPDX-License-Identifier: Apache-2.0
// A network in 8-bit integers throughout.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "halftone/base/random.h"
#include "halftone/ir/graph.h"

namespace halftone {

inline constexpr double kWeightStep = 1.0 / 256;

/// Integers that represent weights.
inline ir::ValueId add_codes(ir::Graph& graph, const std::string& name, ir::Dim rows, ir::Dim cols,
                             Random& random) {
  ir::Tensor codes(ir::ElementType::kInt8, {rows, cols});
  for (std::int8_t& code : codes.as<std::int8_t>()) {
    code = static_cast<std::int8_t>(std::clamp(0.1 / kWeightStep * random.normal(), -127.0, 127.0));
  }
  const ir::AffineParameters step{{static_cast<float>(kWeightStep)}, {0}};
  return graph.add_node(name + "/floats", ir::DequantizeLinear{step},
                        {graph.add_constant(name, std::move(codes))});
}

/// The classifier in 8-bit integers throughout, as other programs write such networks.
inline ir::Graph integer_classifier() {
  Random random(1);
  ir::Graph graph;
  const ir::AffineParameters pixel{{1.0F / 255}, {-128}};
  const ir::AffineParameters hidden{{0.05F}, {-128}};
  const ir::AffineParameters score{{0.1F}, {0}};
  const auto q =
      graph.add_input("pixels", ir::dense_type(ir::ElementType::kInt8, {ir::kBatch, 784}));
  const auto x = graph.add_node("pixels/floats", ir::DequantizeLinear{pixel}, {q});
  const auto first = add_codes(graph, "w1", 24, 784, random);
  const auto second = add_codes(graph, "w2", 10, 24, random);
  const auto h = graph.add_node("dense1", ir::FullyConnected{{ir::ActivationKind::kRelu}},
                                {x, first, ir::kAbsent});
  const auto h_codes = graph.add_node("hidden", ir::QuantizeLinear{hidden}, {h});
  const auto h_floats = graph.add_node("hidden/floats", ir::DequantizeLinear{hidden}, {h_codes});
  const auto y = graph.add_node("dense2", ir::FullyConnected{}, {h_floats, second, ir::kAbsent});
  graph.add_output(graph.add_node("scores", ir::QuantizeLinear{score}, {y}));
  return graph;
}

}  // namespace halftone
