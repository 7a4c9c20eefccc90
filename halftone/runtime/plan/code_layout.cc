// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/code_layout.h"

#include <algorithm>
#include <optional>

#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_cost.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/linear/linear_cost.h"

namespace halftone::runtime {
namespace {

/// What integers in place of bits gain a reader of codes; nothing if it cannot read integers.
std::optional<double> saved_us(const ir::Graph& graph, const ir::Node& node) {
  constexpr double kMust = 1e12;  // it cannot read bits
  if (std::holds_alternative<ir::FullyConnected>(node.op)) {
    if (why_not_int8(graph, node)) return std::nullopt;
    if (why_not_bits(graph, node)) return kMust;
    const LayerExtent layer = layer_extent(graph, node);
    return cost_us(Product::kBits, layer) - cost_us(cheapest_int8(layer), layer);
  }
  if (std::holds_alternative<ir::Conv>(node.op)) {
    if (why_not_int8_conv(graph, node)) return std::nullopt;
    const ConvExtent conv = conv_extent(graph, node);
    double us = conv_cost_us(ConvProduct::kFloat, conv);
    if (!why_not_bit_conv(graph, node)) us = std::min(us, conv_cost_us(ConvProduct::kBits, conv));
    return us - conv_cost_us(ConvProduct::kLevels, conv);
  }
  return std::nullopt;
}

bool is_int8_better(const ir::Graph& graph, ir::ValueId id) {
  if (std::ranges::find(graph.outputs(), id) != graph.outputs().end()) return false;
  double saved = 0;
  for (const ir::NodeId reader : graph.consumers(id)) {
    const ir::Node& node = graph.node(reader);
    if (std::ranges::count(node.inputs, id) != 1 || node.inputs[0] != id) return false;
    const std::optional<double> us = saved_us(graph, node);
    if (!us) return false;
    saved += *us;
  }
  return saved > 0;
}

}  // namespace

std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, bool int8_activations) {
  std::vector<CodeLayout> layouts(graph.num_values(), CodeLayout::kPlanes);
  if (!int8_activations) return layouts;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::ValueId codes = graph.node(id).output;
    if (graph.value(codes).type.encoding.is_dense()) continue;
    if (is_int8_better(graph, codes)) {
      layouts[static_cast<std::size_t>(codes)] = CodeLayout::kInt8;
    }
  }
  return layouts;
}

}  // namespace halftone::runtime
