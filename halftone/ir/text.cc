// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/text.h"

#include "halftone/base/printable.h"

namespace halftone::ir {
namespace {

std::string node_line(const Graph& graph, const Node& node) {
  const Value& output = graph.value(node.output);
  std::string line = printable_line(output.name) + ": " + output.type.to_string() + " = " +
                     std::string(name_of(node.op)) + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    line += i == 0 ? "" : ", ";
    line += node.inputs[i] == kAbsent ? "-" : printable_line(graph.value(node.inputs[i]).name);
  }
  const std::string attributes = attributes_of(node.op);
  return line + ")" + (attributes.empty() ? "" : " " + attributes) + "\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    text += "input    " + printable_line(value.name) + ": " + value.type.to_string() + "\n";
  }
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const Value& value = graph.value(ValueId{static_cast<std::uint32_t>(v)});
    if (!value.constant) continue;
    text += "constant " + printable_line(value.name) + ": " + value.type.to_string() + ", " +
            std::to_string(storage_bytes(*value.constant)) + " bytes\n";
  }
  for (const NodeId id : graph.topological_order()) text += node_line(graph, graph.node(id));
  for (const Definition& each : graph.definitions()) {
    text += "extent   " + each.symbol + " = " + printable_line(graph.value(each.value).name) + "\n";
  }
  for (const ValueId id : graph.outputs())
    text += "output   " + printable_line(graph.value(id).name) + "\n";
  for (const auto& [before, after] : graph.states()) {
    text += "state    " + printable_line(graph.value(before).name) + " = " +
            (after == kAbsent ? "zeros" : printable_line(graph.value(after).name)) + "\n";
  }
  return text;
}

}  // namespace halftone::ir
