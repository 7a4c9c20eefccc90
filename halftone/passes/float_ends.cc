// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/float_ends.h"

#include <string>
#include <utility>
#include <vector>

#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

/// The parameters that dequantize an input; null if there are none.
const ir::AffineParameters* reading_of(const ir::Graph& graph, ir::ValueId input) {
  for (const ir::NodeId reader : graph.consumers(input)) {
    const auto* op = std::get_if<ir::DequantizeLinear>(&graph.node(reader).op);
    if (op != nullptr) return &op->parameters;
  }
  return nullptr;
}

bool open_input(ir::Graph& graph, ir::ValueId input) {
  const ir::ValueType type = graph.value(input).type;
  const ir::AffineParameters* parameters = reading_of(graph, input);
  if (parameters == nullptr || type.is_dense(ir::ElementType::kFloat32)) return false;
  ir::QuantizeLinear quantize{*parameters, type.encoding.element};
  const std::string name = graph.value(input).name;
  // Creates the node for float32 before other nodes read it.
  const std::vector<ir::NodeId> readers = graph.consumers(input);
  graph.set_input_type(input, ir::dense_type(ir::ElementType::kFloat32, type.shape));
  const ir::ValueId codes = graph.add_node(name + "/quantize", std::move(quantize), {input});
  for (const ir::NodeId reader : readers) {
    std::vector<ir::ValueId> inputs = graph.node(reader).inputs;
    for (ir::ValueId& each : inputs) {
      if (each == input) each = codes;
    }
    graph.replace_node(reader, ir::Operator(graph.node(reader).op), std::move(inputs));
  }
  return true;
}

bool open_output(ir::Graph& graph, ir::ValueId& output) {
  const auto* op = computed_by<ir::QuantizeLinear>(graph, output);
  if (op == nullptr) return false;
  ir::DequantizeLinear dequantize{op->parameters};
  const std::string name = graph.value(output).name;
  graph.rename(output, name + "/codes");
  output = graph.add_node(name + "/dequantize", std::move(dequantize), {output}, name);
  return true;
}

}  // namespace

bool give_float_ends(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const ir::ValueId input : inputs) changed = open_input(graph, input) || changed;
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (ir::ValueId& output : outputs) changed = open_output(graph, output) || changed;
  graph.set_outputs(std::move(outputs));
  return changed;
}

}  // namespace halftone::passes
