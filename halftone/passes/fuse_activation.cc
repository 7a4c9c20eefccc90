// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/fuse_activation.h"

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

constexpr auto kFloat = ir::ElementType::kFloat32;

/// The operator with an activation; none if it supports none or already has one.
std::optional<ir::Operator> with_activation(ir::Operator op, const ir::Activation& activation) {
  ir::Activation* fused = ir::fused_activation(op);
  if (fused == nullptr || *fused != ir::Activation{}) return std::nullopt;
  *fused = activation;
  return op;
}

}  // namespace

bool fuse_activation(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    if (!graph.contains(id)) continue;
    const ir::Node node = graph.node(id);
    const auto reader = only_reader(graph, node.output);
    const auto* unary = reader ? std::get_if<ir::Unary>(&graph.node(*reader).op) : nullptr;
    const bool fits = unary != nullptr && graph.value(node.output).type.is_dense(kFloat) &&
                      !ir::is_predicate(unary->activation.kind);
    if (!fits) continue;
    auto fused = with_activation(node.op, unary->activation);
    if (!fused) continue;
    graph.absorb(id, *reader, std::move(*fused), node.inputs);
    changed = true;
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
