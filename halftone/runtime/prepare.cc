// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/prepare.h"

#include <algorithm>
#include <vector>

#include "halftone/ir/verify.h"

namespace halftone::runtime {
namespace {

void fill_in_batch(ir::Graph& graph, std::size_t batch) {
  for (const ir::ValueId id : graph.inputs()) {
    ir::ValueType type = graph.value(id).type;
    type.shape = type.shape.with_batch(batch);
    graph.set_input_type(id, std::move(type));
  }
  for (const ir::NodeId id : graph.topological_order()) {
    ir::Operator op = graph.node(id).op;
    if (auto* reshape = std::get_if<ir::Reshape>(&op)) {
      reshape->shape = reshape->shape.with_batch(batch);
    }
    std::vector<ir::ValueId> inputs = graph.node(id).inputs;
    graph.replace_node(id, std::move(op), std::move(inputs));
  }
}

void merge_equal_encodings(ir::Graph& graph) {
  std::vector<ir::NodeId> kept;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (!std::holds_alternative<ir::Encode>(node.op)) continue;
    const auto equal = std::find_if(kept.begin(), kept.end(), [&](ir::NodeId other) {
      return graph.node(other).inputs == node.inputs && graph.node(other).op == node.op;
    });
    if (equal == kept.end()) {
      kept.push_back(id);
    } else {
      graph.replace_uses(node.output, graph.node(*equal).output);
    }
  }
}

}  // namespace

ir::Graph prepare(ir::Graph graph, std::size_t batch) {
  ir::verify(graph);
  fill_in_batch(graph, batch);
  merge_equal_encodings(graph);
  graph.remove_unused_nodes();
  return graph;
}

}  // namespace halftone::runtime
