// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/text.h"

#include "halftone/base/printable.h"

namespace halftone::ir {
namespace {

/// Names come from files: control characters must not break the line or reach the terminal.
std::string shown(const std::string& name) { return printable_line(name); }

std::string node_line(const Graph& graph, const Node& node) {
  const Value& output = graph.value(node.output);
  std::string line = shown(output.name) + ": " + output.type.to_string() + " = " +
                     std::string(name_of(node.op)) + "(";
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    line += i == 0 ? "" : ", ";
    line += node.inputs[i] == kAbsent ? "-" : shown(graph.value(node.inputs[i]).name);
  }
  const std::string attributes = attributes_of(node.op);
  return line + ")" + (attributes.empty() ? "" : " " + attributes) + "\n";
}

}  // namespace

std::string to_text(const Graph& graph) {
  std::string text;
  for (const ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    text += "input    " + shown(value.name) + ": " + value.type.to_string() + "\n";
  }
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const Value& value = graph.value(ValueId{static_cast<std::uint32_t>(v)});
    if (!value.constant) continue;
    text += "constant " + shown(value.name) + ": " + value.type.to_string() + ", " +
            std::to_string(storage_bytes(*value.constant)) + " bytes\n";
  }
  for (const NodeId id : graph.topological_order()) text += node_line(graph, graph.node(id));
  for (const ValueId id : graph.outputs()) text += "output   " + shown(graph.value(id).name) + "\n";
  for (const auto& [before, after] : graph.states()) {
    text += "state    " + shown(graph.value(before).name) + " = " + shown(graph.value(after).name) +
            "\n";
  }
  return text;
}

}  // namespace halftone::ir
