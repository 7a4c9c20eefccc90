// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/page/fold.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <string_view>

namespace halftone::report::page {
namespace {

/// A picture has at most this many boxes.
constexpr std::size_t kMaxBlocks = 32;
/// Of a name, so many parts count: names come from files, and may have thousands.
constexpr std::size_t kMaxScopes = 12;

using Nodes = std::vector<std::size_t>;

/// The parts of a name before its last separator: {"layer1", "0"} of "layer1.0/conv1". Of names
/// that were joined with semicolons, those of the first.
std::vector<std::string> scopes(std::string_view name) {
  name = name.substr(0, name.find(';'));
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t end = name.find_first_of("/.");
    if (end == std::string_view::npos || parts.size() == kMaxScopes) return parts;
    if (end > 0) parts.emplace_back(name.substr(0, end));
    name.remove_prefix(end + 1);
  }
}

/// The first parts of a name, joined by slashes; empty if the name has none.
std::string scope_key(const std::vector<std::string>& parts, std::size_t depth) {
  std::string key;
  for (std::size_t i = 0; i < std::min(depth, parts.size()); ++i) {
    key += (i > 0 ? "/" : "") + parts[i];
  }
  return key;
}

/// Orders blocks so that each depends on earlier ones only; an empty list if they depend on each
/// other.
std::vector<Block> in_order(const ReportGraph& graph, const std::vector<Block>& blocks) {
  std::map<std::size_t, std::size_t> owner;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    for (const std::size_t node : blocks[b].nodes) owner[node] = b;
  }
  std::vector<std::set<std::size_t>> readers(blocks.size());
  std::vector<std::size_t> num_inputs(blocks.size(), 0);
  for (const auto& [node, block] : owner) {
    for (const std::size_t input : graph.nodes[node].inputs) {
      const auto from = owner.find(input);
      if (from == owner.end() || from->second == block) continue;
      if (readers[from->second].insert(block).second) ++num_inputs[block];
    }
  }
  // Of the blocks that are ready, the one whose first node is first.
  std::set<std::pair<std::size_t, std::size_t>> ready;
  for (std::size_t b = 0; b < blocks.size(); ++b) {
    if (num_inputs[b] == 0) ready.emplace(blocks[b].nodes.front(), b);
  }
  std::vector<Block> result;
  while (!ready.empty()) {
    const std::size_t next = ready.begin()->second;
    ready.erase(ready.begin());
    result.push_back(blocks[next]);
    for (const std::size_t reader : readers[next]) {
      if (--num_inputs[reader] == 0) ready.emplace(blocks[reader].nodes.front(), reader);
    }
  }
  if (result.size() != blocks.size()) result.clear();
  return result;
}

/// Blocks of the nodes with equal keys; nodes without a key are blocks of their own.
std::vector<Block> grouped(const ReportGraph& graph, const Nodes& nodes,
                           const std::vector<std::string>& keys, bool only_runs) {
  std::vector<Block> blocks;
  std::map<std::string, std::size_t> known;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (only_runs && i > 0 && keys[i] != keys[i - 1]) known.clear();
    const auto found = keys[i].empty() ? known.end() : known.find(keys[i]);
    if (found != known.end()) {
      blocks[found->second].nodes.push_back(nodes[i]);
      continue;
    }
    if (!keys[i].empty()) known[keys[i]] = blocks.size();
    blocks.push_back({keys[i].empty() ? graph.nodes[nodes[i]].name : keys[i], {nodes[i]}});
  }
  return blocks;
}

/// Whether a list of blocks says more than the list of nodes, and than the whole.
bool folds(const std::vector<Block>& blocks, std::size_t num_nodes) {
  std::size_t largest = 0;
  for (const Block& block : blocks) largest = std::max(largest, block.nodes.size());
  return 10 * largest <= 9 * num_nodes && 10 * blocks.size() <= 6 * num_nodes;
}

/// The finest blocks by names that a picture can show; else the coarsest that fold at all.
std::vector<Block> blocks_by_name(const ReportGraph& graph, const Nodes& nodes) {
  std::vector<std::vector<std::string>> parts;
  std::size_t depths = 0;
  for (const std::size_t node : nodes) {
    parts.push_back(scopes(graph.nodes[node].name));
    depths = std::max(depths, parts.back().size());
  }
  std::vector<Block> best;
  for (std::size_t depth = 1; depth <= depths; ++depth) {
    std::vector<std::string> keys;
    for (const std::vector<std::string>& each : parts) keys.push_back(scope_key(each, depth));
    std::vector<Block> blocks = in_order(graph, grouped(graph, nodes, keys, false));
    // Consecutive nodes never depend on each other in a circle.
    if (blocks.empty()) blocks = grouped(graph, nodes, keys, true);
    if (!folds(blocks, nodes.size())) continue;
    if (!best.empty() && blocks.size() > kMaxBlocks) break;
    best = std::move(blocks);
  }
  return best;
}

/// Whether a single value leads from nodes[0, i] to the nodes behind, for each i.
std::vector<bool> cuts_of(const ReportGraph& graph, const Nodes& nodes) {
  std::map<std::size_t, std::size_t> position;
  for (std::size_t i = 0; i < nodes.size(); ++i) position[nodes[i]] = i;
  std::vector<std::size_t> last_reader(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    last_reader[i] = i;
    for (const std::size_t input : graph.nodes[nodes[i]].inputs) {
      const auto found = position.find(input);
      if (found != position.end()) last_reader[found->second] = i;
    }
  }
  std::vector<bool> cuts(nodes.size());
  std::multiset<std::size_t> open;  // last readers of the values that are still needed
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    open.erase(i);
    if (last_reader[i] > i) open.insert(last_reader[i]);
    cuts[i] = open.size() <= 1;
  }
  return cuts;
}

/// The name of a block without one: that of its first layer, else of its first node.
std::string name_of(const ReportGraph& graph, const Nodes& nodes) {
  for (const std::size_t node : nodes) {
    if (graph.nodes[node].layer) return graph.nodes[node].name;
  }
  return graph.nodes[nodes.front()].name;
}

/// Regions between cuts; single nodes join the block before them unless they are layers.
std::vector<Block> blocks_by_cuts(const ReportGraph& graph, const Nodes& nodes) {
  const std::vector<bool> cuts = cuts_of(graph, nodes);
  std::vector<Block> blocks;
  Nodes region;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    region.push_back(nodes[i]);
    if (!cuts[i] && i + 1 < nodes.size()) continue;
    if (blocks.empty() || region.size() > 1 || graph.nodes[nodes[i]].layer) blocks.emplace_back();
    Nodes& block = blocks.back().nodes;
    block.insert(block.end(), region.begin(), region.end());
    region.clear();
  }
  for (Block& block : blocks) block.name = name_of(graph, block.nodes);
  return blocks;
}

/// Combines consecutive blocks into runs of nearly equal length.
std::vector<Block> combined(const std::vector<Block>& blocks) {
  const auto num_runs = std::min<std::size_t>(
      kMaxBlocks,
      static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(blocks.size())))));
  std::vector<Block> result;
  for (std::size_t run = 0; run < num_runs; ++run) {
    const std::size_t begin = run * blocks.size() / num_runs;
    const std::size_t end = (run + 1) * blocks.size() / num_runs;
    Block block = blocks[begin];
    for (std::size_t b = begin + 1; b < end; ++b) {
      block.nodes.insert(block.nodes.end(), blocks[b].nodes.begin(), blocks[b].nodes.end());
    }
    if (end > begin + 1) block.name += " to " + blocks[end - 1].name;
    std::ranges::sort(block.nodes);
    result.push_back(std::move(block));
  }
  return result;
}

std::vector<Block> single_nodes(const ReportGraph& graph, const Nodes& nodes) {
  std::vector<Block> blocks;
  for (const std::size_t node : nodes) blocks.push_back({graph.nodes[node].name, {node}});
  return blocks;
}

}  // namespace

std::vector<Block> blocks_of(const ReportGraph& graph, const Nodes& nodes, std::size_t max_nodes) {
  if (nodes.size() <= max_nodes) return single_nodes(graph, nodes);
  std::vector<Block> blocks = blocks_by_name(graph, nodes);
  if (blocks.empty()) blocks = blocks_by_cuts(graph, nodes);
  if (!folds(blocks, nodes.size())) blocks = single_nodes(graph, nodes);
  return blocks.size() > kMaxBlocks ? combined(blocks) : blocks;
}

}  // namespace halftone::report::page
