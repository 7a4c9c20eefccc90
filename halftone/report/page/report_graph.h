// SPDX-License-Identifier: Apache-2.0
// The graph of a network as a report shows it.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace halftone::report::page {

/// An operator, or an input of the network.
struct ReportNode {
  std::string name;
  std::string op;                      ///< "Input" for inputs of the network
  std::string type;                    ///< of its value: "float32[N, 16, 32, 32]"
  std::vector<std::size_t> inputs;     ///< indices of the nodes that it reads, all before it
  std::optional<std::size_t> layer{};  ///< index in the table of layers
  std::size_t bytes = 0;               ///< of its weights, encoded
};

/// Nodes in the order of execution.
struct ReportGraph {
  std::vector<ReportNode> nodes;
};

}  // namespace halftone::report::page
