// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/code_parameters.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

/// What the integers of a value mean; null for one of floats, or if nothing says it.
const ir::AffineParameters* meaning_of(const ir::Graph& graph, const ir::CodeParameters& known,
                                       ir::ValueId value) {
  const auto found = known.of_value.find(value);
  // A state stays what it is.
  const bool is_float =
      graph.value(value).type.is_dense(ir::ElementType::kFloat32) || graph.is_tied(value);
  return is_float || found == known.of_value.end() ? nullptr : &found->second;
}

bool open_input(ir::Graph& graph, const ir::CodeParameters& known, ir::ValueId input) {
  const ir::ValueType type = graph.value(input).type;
  const ir::AffineParameters* parameters = meaning_of(graph, known, input);
  if (parameters == nullptr) return false;
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

bool open_output(ir::Graph& graph, const ir::CodeParameters& known, ir::ValueId& output) {
  const ir::AffineParameters* parameters = meaning_of(graph, known, output);
  if (parameters == nullptr) return false;
  ir::DequantizeLinear dequantize{*parameters};
  const std::string name = graph.value(output).name;
  graph.rename(output, name + "/codes");
  output = graph.add_node(name + "/dequantize", std::move(dequantize), {output}, name);
  return true;
}

/// Whether a node moves the elements of its first input, and reads nothing else that is computed.
bool moves_one(const ir::Graph& graph, const ir::Node& node) {
  return ir::moves_elements(node.op) && ir::traits_of(node.op).selects &&
         std::ranges::all_of(std::span(node.inputs).subspan(1),
                             [&](ir::ValueId id) { return graph.constant(id) != nullptr; });
}

/// The conversion behind an input, perhaps behind nodes that move its elements for nothing else.
std::optional<ir::NodeId> conversion_behind(const ir::Graph& graph, ir::ValueId value) {
  while (graph.num_uses(value) == 1 && graph.consumers(value).size() == 1) {
    const ir::NodeId reader = graph.consumers(value)[0];
    const ir::Node& node = graph.node(reader);
    if (std::holds_alternative<ir::QuantizeLinear>(node.op)) return reader;
    if (node.inputs[0] != value || !moves_one(graph, node)) break;
    value = node.output;
  }
  return std::nullopt;
}

bool restore_input(ir::Graph& graph, ir::ValueId input, const ir::ValueType& type) {
  const auto conversion = conversion_behind(graph, input);
  if (!conversion) return false;
  const ir::Node node = graph.node(*conversion);
  if (std::get<ir::QuantizeLinear>(node.op).element != type.encoding.element) return false;
  graph.set_input_type(input, type);
  if (std::ranges::count(graph.outputs(), node.output) > 0) {  // which keeps its name
    graph.replace_node(*conversion, ir::Reshape{graph.value(node.output).type.shape}, node.inputs);
    return true;
  }
  graph.replace_uses(node.output, node.inputs[0]);
  graph.remove_node(*conversion);
  return true;
}

/// The codes of a value: those that it is converted from, moved as it is; absent without any.
ir::ValueId codes_of_output(ir::Graph& graph, ir::ValueId value) {
  const auto producer = graph.producer(value);
  if (!producer) return ir::kAbsent;
  const ir::Node node = graph.node(*producer);
  if (std::holds_alternative<ir::DequantizeLinear>(node.op)) return node.inputs[0];
  if (!moves_one(graph, node)) return ir::kAbsent;
  const ir::ValueId codes = codes_of_output(graph, node.inputs[0]);
  if (codes == ir::kAbsent) return codes;
  std::vector<ir::ValueId> inputs = node.inputs;
  inputs[0] = codes;
  return graph.add_node(node.name + "/codes", node.op, std::move(inputs));
}

bool restore_output(ir::Graph& graph, ir::ValueId& output, const ir::ValueType& type) {
  const ir::ValueId codes = codes_of_output(graph, output);
  if (codes == ir::kAbsent || std::ranges::count(graph.outputs(), codes) > 0) return false;
  if (!graph.value(codes).type.is_dense(type.encoding.element)) return false;
  const std::string name = graph.value(output).name;
  graph.rename(output, name + "/dequantize");
  graph.rename(codes, name);
  output = codes;
  return true;
}

}  // namespace

bool give_float_ends(ir::Graph& graph) {
  bool changed = false;
  const ir::CodeParameters known = ir::code_parameters(graph);
  const std::vector<ir::ValueId> inputs(graph.inputs().begin(), graph.inputs().end());
  for (const ir::ValueId input : inputs) changed = open_input(graph, known, input) || changed;
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (ir::ValueId& output : outputs) changed = open_output(graph, known, output) || changed;
  graph.replace_outputs(std::move(outputs));
  return changed;
}

bool restore_ends(ir::Graph& graph, const ir::Graph& original) {
  bool changed = false;
  const auto is_float = [](const ir::ValueType& type) {
    return type.is_dense(ir::ElementType::kFloat32);
  };
  for (std::size_t i = 0; i < original.inputs().size(); ++i) {
    const ir::ValueType& type = original.value(original.inputs()[i]).type;
    const ir::ValueId input = graph.inputs()[i];
    if (is_float(type) || !is_float(graph.value(input).type)) continue;
    changed = restore_input(graph, input, type) || changed;
  }
  if (changed) graph.infer_all();  // what moves an input has its type
  std::vector<ir::ValueId> outputs(graph.outputs().begin(), graph.outputs().end());
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::ValueType& type = original.value(original.outputs()[i]).type;
    if (!is_float(type)) changed = restore_output(graph, outputs[i], type) || changed;
  }
  if (!changed) return false;
  graph.replace_outputs(std::move(outputs));
  graph.remove_unused_nodes();
  graph.infer_all();
  return true;
}

}  // namespace halftone::passes
