// SPDX-License-Identifier: Apache-2.0
// The base of classes that lower one node of a graph to others.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// A node and those that replace it, which are named after it: NAME/1, NAME/2, ...
class NodeRewrite {
 protected:
  NodeRewrite(ir::Graph& graph, ir::NodeId id) : graph_(graph), node_(graph.node(id)) {}

  ir::ValueId add(ir::Operator op, std::vector<ir::ValueId> inputs) {
    return graph_.add_node(node_.name + "/" + std::to_string(++steps_), std::move(op),
                           std::move(inputs));
  }
  /// Gives the name and the readers of the node's output to another value.
  void replace_output(ir::ValueId result) {
    graph_.rename(result, graph_.value(node_.output).name);
    graph_.replace_uses(node_.output, result);
  }

  ir::Graph& graph_;
  const ir::Node node_;  // a copy, because added nodes invalidate references

 private:
  int steps_ = 0;
};

}  // namespace halftone::formats::circle
