// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/graph_part.h"

#include <utility>

namespace halftone::formats::circle {

std::vector<ir::ValueId> add_part(ir::Graph& graph, const ir::Graph& part,
                                  const std::vector<ir::ValueId>& inputs,
                                  const std::string& prefix) {
  std::vector<ir::ValueId> copies(part.num_values(), ir::kAbsent);
  const auto copy_of = [&](ir::ValueId id) -> ir::ValueId& {
    return copies[static_cast<std::size_t>(id)];
  };
  for (std::size_t i = 0; i < inputs.size(); ++i) copy_of(part.inputs()[i]) = inputs[i];
  for (std::size_t v = 0; v < copies.size(); ++v) {
    const ir::Value& value = part.value(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (value.constant) copies[v] = graph.add_constant(value.name, value.constant);
  }
  for (const ir::NodeId id : part.topological_order()) {
    const ir::Node& node = part.node(id);
    std::vector<ir::ValueId> operands = node.inputs;
    for (ir::ValueId& operand : operands) {
      if (operand != ir::kAbsent) operand = copy_of(operand);
    }
    copy_of(node.output) = graph.add_node(prefix + node.name, node.op, std::move(operands),
                                          part.value(node.output).name);
  }
  std::vector<ir::ValueId> outputs;
  for (const ir::ValueId id : part.outputs()) outputs.push_back(copy_of(id));
  return outputs;
}

}  // namespace halftone::formats::circle
