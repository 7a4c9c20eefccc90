// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstring>
#include <map>
#include <string>

#include "halftone/passes/rewrite.h"
#include "halftone/passes/simplify.h"

namespace halftone::passes {
namespace {

/// Larger constants are not compared by content: reading all weights every time takes too long, and
/// fuse_bias() cannot scale a weight that several layers share.
constexpr std::size_t kSmallBytes = 64;

/// Type and bytes of a small dense constant; empty for others.
std::string content(const ir::Constant& constant) {
  const auto* tensor = std::get_if<ir::Tensor>(&constant);
  if (tensor == nullptr || tensor->bytes().size() > kSmallBytes) return {};
  std::string text = tensor->type().to_string();
  std::ranges::transform(tensor->bytes(), std::back_inserter(text),
                         [](std::byte byte) { return static_cast<char>(byte); });
  return text;
}

bool merge_constants(ir::Graph& graph) {
  bool changed = false;
  std::map<const ir::Constant*, ir::ValueId> by_storage;
  std::map<std::string, ir::ValueId> by_content;
  for (std::size_t v = 0; v < graph.num_values(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    const ir::Constant* constant = graph.constant(id);
    if (constant == nullptr || graph.num_uses(id) == 0) continue;
    ir::ValueId first = by_storage.try_emplace(constant, id).first->second;
    std::string key = content(*constant);
    if (first == id && !key.empty())
      first = by_content.try_emplace(std::move(key), id).first->second;
    if (first != id) changed = replace_value(graph, id, first) || changed;
  }
  return changed;
}

bool same_numbers(const ir::Constant& a, const ir::Constant& b) {
  if (const auto* codes = std::get_if<ir::EncodedTensor>(&a)) {
    return codes->codes == std::get<ir::EncodedTensor>(b).codes;
  }
  const auto x = std::get<ir::Tensor>(a).bytes();
  return std::memcmp(x.data(), std::get<ir::Tensor>(b).bytes().data(), x.size()) == 0;
}

/// Whether a constant is a lookup table.
bool is_table(const ir::Graph& graph, ir::ValueId id) {
  if (graph.constant(id) == nullptr) return false;
  const std::vector<ir::NodeId> readers = graph.consumers(id);
  return std::ranges::any_of(readers, [&](ir::NodeId reader) {
    const ir::Node& node = graph.node(reader);
    return std::holds_alternative<ir::Gather>(node.op) && node.inputs[0] == id;
  });
}

bool merge_tables(ir::Graph& graph) {
  bool changed = false;
  for (std::size_t t = 0; t < graph.num_values(); ++t) {
    const ir::ValueId table{static_cast<std::uint32_t>(t)};
    if (!is_table(graph, table)) continue;
    for (std::size_t v = 0; v < graph.num_values(); ++v) {
      const ir::ValueId id{static_cast<std::uint32_t>(v)};
      const ir::Constant* constant = graph.constant(id);
      if (constant == nullptr || id == table || graph.num_uses(id) == 0) continue;
      const bool same = graph.value(id).type == graph.value(table).type &&
                        same_numbers(*constant, *graph.constant(table));
      if (same) changed = replace_value(graph, id, table) || changed;
    }
  }
  return changed;
}

bool merge_nodes(ir::Graph& graph) {
  bool changed = false;
  // Operators have no order, so the key to find candidates is the operator's kind and its inputs.
  using Key = std::pair<std::size_t, std::vector<ir::ValueId>>;
  std::map<Key, std::vector<ir::NodeId>> seen;
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    std::vector<ir::NodeId>& candidates = seen[{node.op.index(), node.inputs}];
    const auto same = std::ranges::find_if(
        candidates, [&](ir::NodeId other) { return graph.node(other).op == node.op; });
    if (same == candidates.end()) {
      candidates.push_back(id);
    } else {
      changed = replace_value(graph, node.output, graph.node(*same).output) || changed;
    }
  }
  return changed;
}

}  // namespace

bool merge_duplicates(ir::Graph& graph) {
  const bool constants = merge_constants(graph);
  const bool tables = merge_tables(graph);
  const bool nodes = merge_nodes(graph);
  if (constants || tables || nodes) graph.remove_unused_nodes();
  return constants || tables || nodes;
}

}  // namespace halftone::passes
