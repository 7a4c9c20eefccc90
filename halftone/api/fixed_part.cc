// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/fixed_part.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/ir/ops/traits.h"
#include "halftone/ir/stages.h"

namespace halftone {
namespace {

ir::Stages stages_of(ir::Graph graph) {
  const std::string where = ir::describe_definition(graph);
  ir::Stages stages = ir::split_stages(std::move(graph), ir::HandOver::kFloats);
  if (!stages.first.outputs().empty()) return stages;
  fail(ErrorKind::kUnsupported,
       where + ": everything lies behind extents that depend on data, so nothing can be fitted");
}

/// A line about the layers of the rest.
std::vector<std::string> float_layers(const ir::Graph& rest) {
  constexpr std::size_t kMaxNames = 3;
  std::vector<std::string> names;
  for (const ir::NodeId id : rest.topological_order()) {
    const ir::Node& node = rest.node(id);
    if (ir::is_layer(node.op) || ir::is_recurrent(node.op)) names.push_back(node.name);
  }
  if (names.empty()) return {};
  std::string line =
      names.size() == 1 ? "a layer lies" : std::to_string(names.size()) + " layers lie";
  line += std::string(" behind extents that depend on data, and ") +
          (names.size() == 1 ? "stays" : "stay") + " float32: ";
  for (std::size_t i = 0; i < std::min(names.size(), kMaxNames); ++i) {
    line += (i == 0 ? "'" : ", '") + names[i] + "'";
  }
  if (names.size() > kMaxNames)
    line += " and " + std::to_string(names.size() - kMaxNames) + " more";
  return {line};
}

}  // namespace

ir::Graph fixed_part(ir::Graph graph) {
  if (!graph.definitions().empty()) graph.remove_unused_nodes();
  if (graph.definitions().empty()) return graph;
  return stages_of(std::move(graph)).first;
}

compress::QuantizedGraph fit_fixed_part(
    const ir::Graph& graph, const std::function<compress::QuantizedGraph(const ir::Graph&)>& fit) {
  ir::Graph used = graph;
  if (!used.definitions().empty()) used.remove_unused_nodes();
  if (used.definitions().empty()) return fit(graph);
  const ir::Stages stages = stages_of(used);
  compress::QuantizedGraph result = fit(stages.first);
  result.graph = ir::join_stages(std::move(result.graph), stages, used.outputs());
  for (std::string& line : float_layers(stages.rest)) result.warnings.push_back(std::move(line));
  return result;
}

}  // namespace halftone
