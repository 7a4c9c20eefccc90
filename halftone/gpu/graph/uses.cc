// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/uses.h"

#include <algorithm>

namespace halftone::gpu {
namespace {

template <typename List, typename Item>
bool contains(const List& list, const Item& item) {
  return std::ranges::find(list, item) != std::ranges::end(list);
}

}  // namespace

ir::ValueId root_of(const ir::Graph& graph, ir::ValueId value) {
  for (;;) {
    const auto producer = graph.producer(value);
    if (!producer || !std::holds_alternative<ir::Reshape>(graph.node(*producer).op)) return value;
    value = graph.node(*producer).inputs[0];
  }
}

Uses::Uses(const ir::Graph& graph) : graph_(graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    positions_[id] = order_.size();
    order_.push_back(id);
    for (const ir::ValueId input : node.inputs) {
      if (input == ir::kAbsent) continue;
      std::vector<ir::NodeId>& readers = readers_[root(input)];
      if (readers.empty() || readers.back() != id) readers.push_back(id);
    }
  }
  for (const ir::ValueId output : graph.outputs()) outputs_.push_back(root(output));
}

const std::vector<ir::NodeId>& Uses::readers(ir::ValueId value) const {
  static const std::vector<ir::NodeId> none;
  const auto found = readers_.find(root(value));
  return found == readers_.end() ? none : found->second;
}

std::optional<ir::NodeId> Uses::only_reader(ir::ValueId value) const {
  const std::vector<ir::NodeId>& all = readers(value);
  if (all.size() != 1 || contains(outputs_, root(value))) return std::nullopt;
  return all[0];
}

bool Uses::can_run_at(std::span<const ir::NodeId> nodes, std::size_t position) const {
  for (const ir::NodeId id : nodes) {
    const ir::Node& node = graph_.node(id);
    for (const ir::NodeId reader : readers(node.output)) {
      if (!contains(nodes, reader) && this->position(reader) <= position) return false;
    }
    for (const ir::ValueId input : node.inputs) {
      if (input == ir::kAbsent) continue;
      const auto from = producer(input);
      if (from && !contains(nodes, *from) && this->position(*from) >= position) return false;
    }
  }
  return true;
}

}  // namespace halftone::gpu
