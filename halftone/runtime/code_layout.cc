// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/code_layout.h"

#include <algorithm>

#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/linear_cost.h"

namespace halftone::runtime {
namespace {

bool is_int8_better(const ir::Graph& graph, ir::ValueId id) {
  if (std::ranges::find(graph.outputs(), id) != graph.outputs().end()) return false;
  bool must = false;
  double saved_us = 0;
  for (const ir::NodeId reader : graph.consumers(id)) {
    const ir::Node& node = graph.node(reader);
    if (!std::holds_alternative<ir::FullyConnected>(node.op)) return false;
    if (std::ranges::count(node.inputs, id) != 1 || node.inputs[0] != id) return false;
    if (why_not_int8(graph, node)) return false;
    must = must || why_not_bits(graph, node);
    const LayerExtent layer = layer_extent(graph, node);
    saved_us += cost_us(Product::kBits, layer) - cost_us(cheapest_int8(layer), layer);
  }
  return must || saved_us > 0;
}

}  // namespace

std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, bool int8_activations) {
  std::vector<CodeLayout> layouts(graph.num_values(), CodeLayout::kPlanes);
  if (!int8_activations) return layouts;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::ValueId codes = graph.node(id).output;
    if (!std::holds_alternative<ir::Encode>(graph.node(id).op)) continue;
    if (is_int8_better(graph, codes)) {
      layouts[static_cast<std::size_t>(codes)] = CodeLayout::kInt8;
    }
  }
  return layouts;
}

}  // namespace halftone::runtime
