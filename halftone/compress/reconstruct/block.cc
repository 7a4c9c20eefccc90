// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/block.h"

#include <algorithm>
#include <set>

#include "halftone/ir/ops/traits.h"

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

bool has_batch(const ir::Graph& graph, ir::ValueId id) {
  const ir::Shape& shape = graph.value(id).type.shape;
  return shape.rank() > 0 && shape[0] == ir::kBatch;
}

/// Whether a block can begin or end at a value.
bool can_cut(const ir::Graph& graph, ir::ValueId id) {
  return graph.value(id).type.is_dense(ir::ElementType::kFloat32) && has_batch(graph, id);
}

}  // namespace

std::vector<ir::ValueId> block_ends(const ir::Graph& graph) {
  // Computed values that later nodes still read, with the number of remaining reads.
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

std::vector<BlockSpan> layer_blocks(const ir::Graph& graph, std::span<const ir::NodeId> layers) {
  const std::vector<ir::ValueId> ends = block_ends(graph);
  std::vector<BlockSpan> blocks;
  ir::ValueId last_cut = ir::kAbsent;
  if (graph.inputs().size() == 1 && can_cut(graph, graph.inputs()[0])) last_cut = graph.inputs()[0];
  BlockSpan open;
  const auto close = [&] {
    if (open.from != ir::kAbsent && open.to != ir::kAbsent) blocks.push_back(open);
    open.layers.clear();
  };
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::ranges::count(layers, id) > 0) {
      const bool joins = ir::traits_of(node.op).layer == ir::LayerKind::kRecurrent;
      if (!open.layers.empty() && open.to != ir::kAbsent && !joins) close();
      if (open.layers.empty()) open.from = last_cut;
      open.layers.push_back(id);
      open.to = ir::kAbsent;
    }
    if (std::ranges::count(ends, node.output) == 0 || !can_cut(graph, node.output)) continue;
    last_cut = node.output;
    if (!open.layers.empty() && open.to == ir::kAbsent) open.to = node.output;
  }
  if (!open.layers.empty()) close();
  return blocks;
}

std::vector<BlockSpan> single_layer_blocks(const ir::Graph& graph,
                                           std::span<const ir::NodeId> layers) {
  std::vector<BlockSpan> blocks;
  for (const ir::NodeId layer : layers) {
    BlockSpan block{graph.node(layer).inputs[0], graph.node(layer).output, {layer}};
    const std::vector<ir::NodeId> readers = graph.consumers(block.to);
    if (readers.size() == 1 && graph.num_uses(block.to) == 1) {
      const ir::Node& reader = graph.node(readers[0]);
      const bool is_activation = std::holds_alternative<ir::Unary>(reader.op);
      if (is_activation && can_cut(graph, reader.output)) block.to = reader.output;
    }
    if (can_cut(graph, block.from) && can_cut(graph, block.to)) blocks.push_back(std::move(block));
  }
  return blocks;
}

std::optional<Block> extract_block(const ir::Graph& graph, ir::ValueId from, ir::ValueId to,
                                   std::size_t batch) {
  const std::set<ir::NodeId> nodes = nodes_between(graph, from, to);
  if (nodes.empty()) return std::nullopt;
  if (!has_batch(graph, from) || !has_batch(graph, to)) return std::nullopt;
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
