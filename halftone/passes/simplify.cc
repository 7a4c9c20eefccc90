// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"

#include <memory>
#include <utility>

#include "halftone/ir/verify.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

/// Real graphs settle in three or four rounds. The limit guards against passes that undo each
/// other.
constexpr int kMaxRounds = 32;

/// Simplifies the bodies of loops.
bool simplify_bodies(ir::Graph& graph, const FoldOptions& options) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    const auto* loop = std::get_if<ir::Loop>(&graph.node(id).op);
    if (loop == nullptr) continue;
    auto body = std::make_shared<ir::Graph>(*loop->body);
    if (!simplify(*body, options)) continue;
    ir::Loop simpler = *loop;
    simpler.body = std::move(body);
    graph.replace_node(id, std::move(simpler), graph.node(id).inputs);
    changed = true;
  }
  return changed;
}

}  // namespace

bool simplify(ir::Graph& graph, const FoldOptions& options) {
  ir::verify(graph);
  bool changed = graph.remove_unused_nodes() != 0;
  changed = simplify_bodies(graph, options) || changed;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool found = fold_constants(graph, options);
    found = fold_broadcasts(graph) || found;
    found = merge_duplicates(graph) || found;
    found = remove_identities(graph) || found;
    found = drop_unused_cells(graph) || found;
    found = remove_transposes(graph) || found;
    found = fuse_gelu(graph) || found;
    found = match_fully_connected(graph) || found;
    found = fuse_bias(graph) || found;
    found = fuse_activation(graph) || found;
    if (!found) break;
    changed = true;
  }
  ir::verify(graph);
  return changed;
}

bool simplify_to_run(ir::Graph& graph) {
  bool changed = simplify(graph);
  changed = use_integers(graph) || changed;
  return simplify(graph, {.widen = true}) || changed;
}

}  // namespace halftone::passes
