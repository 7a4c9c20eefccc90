// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/use_integers.h"

#include <array>

#include "halftone/ir/ops/traits.h"
#include "halftone/passes/integer_forms.h"
#include "halftone/passes/rewrite.h"

namespace halftone::passes {
namespace {

using Form = bool (*)(ir::Graph&, ir::NodeId);

/// In the order of the attempts.
constexpr std::array<Form, 7> kForms = {
    use_integer_product, use_integer_binary,     use_integer_mean, use_softmax_of_codes,
    read_codes_later,    quantize_before_concat, use_table,
};

/// Quantizes before a Reshape or Transpose instead of behind it, next to what computes the value.
bool quantize_before_moves(ir::Graph& graph) {
  bool changed = false;
  const std::vector<ir::NodeId> order = graph.topological_order();
  for (auto id = order.rbegin(); id != order.rend(); ++id) {
    const ir::Node move = graph.node(*id);
    if (!ir::traits_of(move.op).permutes || !graph.producer(move.inputs[0])) continue;
    const auto reader = only_reader(graph, move.output);
    const auto* quantize =
        reader ? std::get_if<ir::QuantizeLinear>(&graph.node(*reader).op) : nullptr;
    if (quantize == nullptr || quantize->parameters.scales.size() != 1) continue;
    const ir::ValueId codes = graph.add_node(move.name + "/codes", *quantize, move.inputs);
    graph.replace_node(*reader, move.op, {codes});
    graph.remove_node(*id);
    changed = true;
  }
  return changed;
}

}  // namespace

bool use_integers(ir::Graph& graph) {
  bool changed = quantize_before_moves(graph);
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
