// SPDX-License-Identifier: Apache-2.0
// Networks that tests share.
#pragma once

#include <cstddef>
#include <string>

#include "halftone/report/page/report_graph.h"

namespace halftone::report::page {

/// Appends a node and returns its index.
inline std::size_t add(ReportGraph& graph, const std::string& name, const std::string& op,
                       std::vector<std::size_t> inputs) {
  ReportNode node{name, op, "float32[N, 16, 8, 8]", std::move(inputs), {}, 0};
  graph.nodes.push_back(std::move(node));
  return graph.nodes.size() - 1;
}

/// Appends a layer of 100 bytes.
inline std::size_t add_layer(ReportGraph& graph, const std::string& name, std::size_t input) {
  std::size_t layers = 0;
  for (const ReportNode& node : graph.nodes) layers += node.layer ? std::size_t{1} : 0;
  const std::size_t index = add(graph, name, "Conv", {input});
  graph.nodes[index].layer = layers;
  graph.nodes[index].bytes = 100;
  return index;
}

/// An input, `num_blocks` residual blocks of five nodes, a layer behind. Block b of a network with
/// names is "stage<b / 10>/<b>"; without, nodes are "node_<i>".
inline ReportGraph residual_network(std::size_t num_blocks, bool has_names) {
  ReportGraph graph;
  const auto named = [&](const std::string& name) {
    return has_names ? name : "node_" + std::to_string(graph.nodes.size());
  };
  std::size_t last = add(graph, named("image"), "Input", {});
  for (std::size_t b = 0; b < num_blocks; ++b) {
    const std::string block = "stage" + std::to_string(b / 10) + "/" + std::to_string(b);
    const std::size_t first = add_layer(graph, named(block + "/conv1"), last);
    const std::size_t relu = add(graph, named(block + "/relu1"), "Relu", {first});
    const std::size_t second = add_layer(graph, named(block + "/conv2"), relu);
    const std::size_t sum = add(graph, named(block + "/add"), "Add", {second, last});
    last = add(graph, named(block + "/relu2"), "Relu", {sum});
  }
  add_layer(graph, named("linear"), last);
  return graph;
}

}  // namespace halftone::report::page
