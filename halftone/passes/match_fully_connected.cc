// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/match_fully_connected.h"

#include <map>

#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

/// The transposed matrices, so that layers that share a weight still share it.
using Transposed = std::map<ir::ValueId, ir::ValueId>;

ir::ValueId transposed(ir::Graph& graph, ir::ValueId matrix, Transposed& done) {
  const auto [entry, is_new] = done.try_emplace(matrix, ir::kAbsent);
  if (is_new) {
    const std::string name = graph.value(matrix).name + "/transposed";
    entry->second = dense_constant(graph, matrix) != nullptr
                        ? transpose_constant(graph, matrix, {1, 0})
                        : graph.add_node(name, ir::Transpose{{1, 0}}, {matrix});
  }
  return entry->second;
}

}  // namespace

bool match_fully_connected(ir::Graph& graph) {
  bool changed = false;
  Transposed done;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node node = graph.node(id);
    const auto* matmul = std::get_if<ir::MatMul>(&node.op);
    if (matmul == nullptr || matmul->transpose_a) continue;
    const ir::ValueId matrix = node.inputs[1];
    if (!is_stored(graph, matrix) || graph.value(matrix).type.shape.rank() != 2) continue;
    const ir::ValueId weights = matmul->transpose_b ? matrix : transposed(graph, matrix, done);
    graph.replace_node(id, ir::FullyConnected{}, {node.inputs[0], weights});
    changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
