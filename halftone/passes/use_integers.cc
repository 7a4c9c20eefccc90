// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/use_integers.h"

#include <array>

#include "halftone/passes/integer_forms.h"

namespace halftone::passes {
namespace {

using Form = bool (*)(ir::Graph&, ir::NodeId);

/// In the order of the attempts.
constexpr std::array<Form, 7> kForms = {
    use_integer_product, use_integer_binary,     use_integer_mean, use_softmax_of_codes,
    read_codes_later,    quantize_before_concat, use_table,
};

}  // namespace

bool use_integers(ir::Graph& graph) {
  bool changed = false;
  for (const ir::NodeId id : graph.topological_order()) {
    for (const Form form : kForms) {
      if (!graph.contains(id) || !form(graph, id)) continue;
      changed = true;
      break;
    }
  }
  if (changed) graph.remove_unused_nodes();
  return changed;
}

}  // namespace halftone::passes
