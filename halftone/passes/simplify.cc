// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"

#include "halftone/ir/verify.h"
#include "halftone/passes/prepare_fit.h"
#include "halftone/passes/use_integers.h"

namespace halftone::passes {
namespace {

/// Real graphs settle in three or four rounds. The limit guards against passes that undo each
/// other.
constexpr int kMaxRounds = 32;

}  // namespace

bool simplify(ir::Graph& graph, const FoldOptions& options) {
  ir::verify(graph);
  bool changed = graph.remove_unused_nodes() != 0;
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
