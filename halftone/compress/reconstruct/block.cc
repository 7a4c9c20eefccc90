// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/block.h"

#include <algorithm>
#include <set>

namespace halftone::compress {
namespace {

/// The nodes that compute `to` from `from`; empty if something else is needed.
std::set<ir::NodeId> nodes_between(const ir::Graph& graph, ir::ValueId from, ir::ValueId to) {
  std::set<ir::NodeId> nodes;
  std::vector<ir::ValueId> open = {to};
  while (!open.empty()) {
    const ir::ValueId id = open.back();
    open.pop_back();
    if (id == from || id == ir::kAbsent || graph.constant(id) != nullptr) continue;
    const auto producer = graph.producer(id);
    if (!producer) return {};  // an input of the whole graph
    if (!nodes.insert(*producer).second) continue;
    for (const ir::ValueId input : graph.node(*producer).inputs) open.push_back(input);
  }
  return nodes;
}

}  // namespace

std::vector<ir::ValueId> block_ends(const ir::Graph& graph) {
  // What was computed and is still to be read, as the nodes run one after another.
  std::map<ir::ValueId, std::size_t> unread;
  const auto add = [&](ir::ValueId id) {
    if (const std::size_t uses = graph.num_uses(id); uses != 0) unread[id] = uses;
  };
  for (const ir::ValueId id : graph.inputs()) add(id);
  std::vector<ir::ValueId> ends;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    for (const ir::ValueId input : node.inputs) {
      const auto found = unread.find(input);
      if (found != unread.end() && --found->second == 0) unread.erase(found);
    }
    add(node.output);
    if (unread.size() == 1 && unread.contains(node.output)) ends.push_back(node.output);
  }
  return ends;
}

std::optional<Block> extract_block(const ir::Graph& graph, ir::ValueId from, ir::ValueId to,
                                   std::size_t batch) {
  const std::set<ir::NodeId> nodes = nodes_between(graph, from, to);
  if (nodes.empty()) return std::nullopt;
  const auto has_batch = [&](ir::ValueId id) {
    const ir::Shape& shape = graph.value(id).type.shape;
    return shape.rank() > 0 && shape[0] == ir::kBatch;
  };
  if (!has_batch(from) || !has_batch(to)) return std::nullopt;
  Block block;
  ir::ValueType type = graph.value(from).type;
  type.shape = type.shape.with_batch(batch);
  block.copies[from] = block.graph.add_input(graph.value(from).name, type);
  for (const ir::NodeId id : graph.topological_order()) {
    if (!nodes.contains(id)) continue;
    const ir::Node& node = graph.node(id);
    std::vector<ir::ValueId> inputs;
    for (const ir::ValueId input : node.inputs) {
      const bool is_new = input != ir::kAbsent && !block.copies.contains(input);
      if (is_new) {
        const ir::Value& value = graph.value(input);
        block.copies[input] = block.graph.add_constant(value.name, value.constant);
      }
      inputs.push_back(input == ir::kAbsent ? input : block.copies.at(input));
    }
    block.copies[node.output] =
        block.graph.add_node(node.name, ir::with_batch(node.op, batch), std::move(inputs));
  }
  if (!block.copies.contains(from)) return std::nullopt;
  block.graph.add_output(block.copies.at(to));
  return block;
}

}  // namespace halftone::compress
