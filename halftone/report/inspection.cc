// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/inspection.h"

#include <set>
#include <utility>

#include "halftone/ir/text.h"

namespace halftone::report {
namespace {

int bits_of(const ir::Encoding& encoding) {
  if (!encoding.is_dense()) return encoding.basis->bits;
  return static_cast<int>(8 * ir::size_bytes(encoding.element));
}

/// Bits of the codes a value stands for: through a DequantizeLinear, those of its input.
int effective_bits(const ir::Graph& graph, ir::ValueId value) {
  const auto producer = graph.producer(value);
  if (producer && std::holds_alternative<ir::DequantizeLinear>(graph.node(*producer).op)) {
    value = graph.node(*producer).inputs[0];
  }
  return bits_of(graph.value(value).type.encoding);
}

LayerInfo describe_layer(const ir::Graph& graph, const ir::Node& node) {
  LayerInfo layer;
  layer.name = node.name;
  layer.op = std::string(name_of(node.op));
  layer.weights = graph.value(node.inputs[1]).type.to_string();
  layer.activation_bits = effective_bits(graph, node.inputs[0]);
  layer.weight_bits = effective_bits(graph, node.inputs[1]);
  const ir::Constant* weights = graph.constant(node.inputs[1]);
  if (weights != nullptr) layer.weight_bytes = storage_bytes(*weights);
  return layer;
}

}  // namespace

Inspection inspect(const ir::Graph& graph, std::string format, std::size_t file_bytes) {
  Inspection result;
  result.format = std::move(format);
  result.file_bytes = file_bytes;
  result.text = ir::to_text(graph);
  for (const ir::ValueId id : graph.inputs()) {
    result.inputs.push_back({graph.value(id).name, graph.value(id).type});
  }
  for (const ir::ValueId id : graph.outputs()) {
    result.outputs.push_back({graph.value(id).name, graph.value(id).type});
  }
  std::set<ir::ValueId> counted;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    ++result.operators[std::string(name_of(node.op))];
    for (const ir::ValueId input : node.inputs) {
      if (graph.constant(input) != nullptr && counted.insert(input).second) {
        result.parameters += graph.value(input).type.shape.element_count();
      }
    }
    const bool linear = std::holds_alternative<ir::FullyConnected>(node.op) ||
                        std::holds_alternative<ir::MatMul>(node.op);
    if (linear) result.layers.push_back(describe_layer(graph, node));
  }
  return result;
}

}  // namespace halftone::report
