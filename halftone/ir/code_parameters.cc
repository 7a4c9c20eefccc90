// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/code_parameters.h"

#include <utility>
#include <vector>

#include "halftone/ir/ops/traits.h"

namespace halftone::ir {
namespace {

/// The inputs whose elements a node copies unchanged to its output.
std::vector<ValueId> moved_inputs(const Node& node) {
  if (!moves_elements(node.op) || !traits_of(node.op).selects) return {};
  std::vector<ValueId> moved;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    const bool is_data = input_role(node.op, i) == InputRole::kData;
    if (is_data && node.inputs[i] != kAbsent) moved.push_back(node.inputs[i]);
  }
  return moved;
}

class Search {
 public:
  explicit Search(const Graph& graph) : graph_(graph), order_(graph.topological_order()) {}

  CodeParameters run() {
    for (const NodeId id : order_) read_conversion(graph_.node(id));
    while (spread_forwards() || spread_backwards()) {
    }
    return std::move(found_);
  }

 private:
  void read_conversion(const Node& node) {
    if (const auto* op = std::get_if<QuantizeLinear>(&node.op)) add(node.output, op->parameters);
    if (const auto* op = std::get_if<DequantizeLinear>(&node.op)) {
      add(node.inputs[0], op->parameters);
    }
  }

  void add(ValueId value, const AffineParameters& parameters) {
    const auto [at, is_new] = found_.of_value.try_emplace(value, parameters);
    if (!is_new && at->second != parameters && !found_.ambiguous) found_.ambiguous = value;
  }

  /// @return whether `to` has become known
  bool spread(ValueId from, ValueId to) {
    const auto at = found_.of_value.find(from);
    if (at == found_.of_value.end() || at->second.scales.size() != 1) return false;
    return found_.of_value.try_emplace(to, at->second).second;
  }

  bool spread_forwards() {
    bool changed = false;
    for (const NodeId id : order_) {
      const Node& node = graph_.node(id);
      for (const ValueId input : moved_inputs(node)) changed |= spread(input, node.output);
    }
    return changed;
  }

  bool spread_backwards() {
    bool changed = false;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      const Node& node = graph_.node(*id);
      for (const ValueId input : moved_inputs(node)) changed |= spread(node.output, input);
    }
    return changed;
  }

  const Graph& graph_;
  const std::vector<NodeId> order_;
  CodeParameters found_;
};

}  // namespace

CodeParameters code_parameters(const Graph& graph) { return Search(graph).run(); }

}  // namespace halftone::ir
