// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/layers.h"

#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

/// Whether a node has constant, dense float weights.
bool has_float_weights(const ir::Graph& graph, const ir::Node& node) {
  const ir::Constant* weights = graph.constant(node.inputs[weights_input(node.op)]);
  const auto* dense = weights == nullptr ? nullptr : std::get_if<ir::Tensor>(weights);
  return dense != nullptr && dense->element() == ir::ElementType::kFloat32 && dense->size() > 0;
}

/// The first extent of the result must be the batch: errors are measured sample by sample.
bool looks_up_samples(const ir::Graph& graph, const ir::Node& node) {
  const ir::Shape& y = graph.value(node.output).type.shape;
  return graph.value(node.inputs[0]).type.shape.rank() == 2 && y.rank() > 1 &&
         (y.is_static() || y[0] == ir::kBatch);
}

}  // namespace

std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph) {
  std::vector<ir::NodeId> layers;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    const ir::LayerKind kind = ir::traits_of(node.op).layer;
    if (kind == ir::LayerKind::kNone) continue;
    const bool fits = kind == ir::LayerKind::kTable
                          ? looks_up_samples(graph, node)
                          : graph.value(node.inputs[0]).type.encoding.is_dense();
    if (fits && has_float_weights(graph, node)) layers.push_back(id);
  }
  return layers;
}

}  // namespace halftone::compress
