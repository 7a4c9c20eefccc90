// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/sequence/recurrence.h"

#include <algorithm>

#include "halftone/ir/ops/traits.h"

namespace halftone::runtime {
namespace {

bool has_form(const ir::Node& node, ir::RecurrenceForm form) {
  const ir::RecurrenceForm* found = ir::recurrence_form(node.op);
  return found != nullptr && *found == form;
}

}  // namespace

bool is_recurrence(const ir::Graph& graph, const ir::State& state) {
  if (state.after == ir::kAbsent) return false;
  const auto producer = graph.producer(state.after);
  if (!producer || graph.num_uses(state.before) != 2 || graph.num_uses(state.after) != 1) {
    return false;
  }
  const ir::Node& after = graph.node(*producer);
  if (!has_form(after, ir::RecurrenceForm::kState) || after.inputs[0] != state.before) {
    return false;
  }
  ir::Operator rows = after.op;
  *ir::recurrence_form(rows) = ir::RecurrenceForm::kRows;
  return std::ranges::any_of(graph.consumers(state.before), [&](ir::NodeId id) {
    return graph.node(id).op == rows && graph.node(id).inputs == after.inputs;
  });
}

bool is_in_recurrence(const ir::Graph& graph, const ir::Node& node) {
  if (!has_form(node, ir::RecurrenceForm::kRows) && !has_form(node, ir::RecurrenceForm::kState)) {
    return false;
  }
  return std::ranges::any_of(graph.states(), [&](const ir::State& state) {
    return state.before == node.inputs[0] && is_recurrence(graph, state);
  });
}

}  // namespace halftone::runtime
