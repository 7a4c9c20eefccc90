// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layers.h"

#include <algorithm>

#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

/// Whether a node has constant, dense float weights.
bool has_float_weights(const ir::Graph& graph, const ir::Node& node) {
  const ir::Constant* weights = graph.constant(node.inputs[weights_input(node.op)]);
  const auto* dense = weights == nullptr ? nullptr : std::get_if<ir::Tensor>(weights);
  return dense != nullptr && dense->element() == ir::ElementType::kFloat32 && dense->size() > 0;
}

/// By value: whether it depends on an input of the graph. A value that does not is the same for
/// every sample.
std::vector<bool> depend_on_inputs(const ir::Graph& graph) {
  std::vector<bool> depends(graph.num_values(), false);
  const auto at = [&](ir::ValueId id) { return depends[static_cast<std::size_t>(id)]; };
  for (const ir::ValueId id : graph.inputs()) at(id) = true;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    at(node.output) = std::ranges::any_of(
        node.inputs, [&](ir::ValueId input) { return input != ir::kAbsent && at(input); });
  }
  return depends;
}

/// Whether a node looks up rows of a table for every sample.
bool looks_up_samples(const ir::Graph& graph, const ir::Node& node) {
  return graph.value(node.inputs[0]).type.shape.rank() == 2 &&
         graph.value(node.output).type.shape.rank() > 1;
}

}  // namespace

std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph) {
  const std::vector<bool> depends = depend_on_inputs(graph);
  std::vector<ir::NodeId> layers;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const ir::LayerKind kind = ir::traits_of(node.op).layer;
    if (kind == ir::LayerKind::kNone) continue;
    const bool fits = kind == ir::LayerKind::kTable
                          ? looks_up_samples(graph, node)
                          : graph.value(node.inputs[0]).type.encoding.is_dense();
    const bool varies = depends[static_cast<std::size_t>(node.output)];
    if (fits && varies && has_float_weights(graph, node)) layers.push_back(id);
  }
  return layers;
}

}  // namespace halftone::compress
