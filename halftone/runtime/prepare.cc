// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/prepare.h"

#include <algorithm>
#include <vector>

#include "halftone/ir/verify.h"
#include "halftone/kernels/encode_table.h"
#include "halftone/runtime/activation.h"

namespace halftone::runtime {
namespace {

void fill_in_batch(ir::Graph& graph, std::size_t batch) {
  for (const ir::ValueId id : graph.inputs()) {
    ir::ValueType type = graph.value(id).type;
    type.shape = type.shape.with_batch(batch);
    graph.set_input_type(id, std::move(type));
  }
  for (const ir::NodeId id : graph.topological_order()) {
    ir::Operator op = ir::with_batch(graph.node(id).op, batch);
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

/// Whether the codes of activation(x) can be told from x.
bool can_precede(const ir::Activation& activation, const ir::Encode& encode) {
  const auto function = never_decreasing(activation);
  return function && encode.activation.kind == ir::ActivationKind::kIdentity &&
         kernels::EncodeTable(encode.encoding->bases.front()).move_before(function);
}

/// A layer whose output is only encoded leaves its activation to those who encode it: they move
/// their thresholds, and nobody computes it.
void move_activations_into_encodings(ir::Graph& graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const auto* layer = std::get_if<ir::FullyConnected>(&node.op);
    if (layer == nullptr || layer->activation.kind == ir::ActivationKind::kIdentity) continue;
    const ir::Activation activation = layer->activation;
    const std::vector<ir::NodeId> readers = graph.consumers(node.output);
    const bool only_encoded = readers.size() == graph.num_uses(node.output) &&
                              std::all_of(readers.begin(), readers.end(), [&](ir::NodeId reader) {
                                const auto* encode =
                                    std::get_if<ir::Encode>(&graph.node(reader).op);
                                return encode != nullptr && can_precede(activation, *encode);
                              });
    if (!only_encoded || readers.empty()) continue;
    for (const ir::NodeId reader : readers) {
      ir::Encode encode = std::get<ir::Encode>(graph.node(reader).op);
      encode.activation = activation;
      graph.replace_node(reader, std::move(encode), graph.node(reader).inputs);
    }
    graph.replace_node(id, ir::FullyConnected{}, graph.node(id).inputs);
  }
}

}  // namespace

ir::Graph prepare(ir::Graph graph, std::size_t batch) {
  ir::verify(graph);
  fill_in_batch(graph, batch);
  merge_equal_encodings(graph);
  move_activations_into_encodings(graph);
  graph.remove_unused_nodes();
  return graph;
}

}  // namespace halftone::runtime
