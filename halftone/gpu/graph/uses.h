// SPDX-License-Identifier: Apache-2.0
// Who reads the values of a graph. A Reshape is no reader: it has the memory of what it reshapes.
// Private to this folder.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::gpu {

/// The value whose memory another one has.
ir::ValueId root_of(const ir::Graph& graph, ir::ValueId value);

class Uses {
 public:
  /// @param graph  must outlive this
  explicit Uses(const ir::Graph& graph);

  [[nodiscard]] const ir::Graph& graph() const { return graph_; }
  /// The nodes in a topological order, without Reshapes.
  [[nodiscard]] std::span<const ir::NodeId> order() const { return order_; }
  [[nodiscard]] std::size_t position(ir::NodeId node) const { return positions_.at(node); }
  [[nodiscard]] ir::ValueId root(ir::ValueId value) const { return root_of(graph_, value); }
  /// The node that computes a value; none for inputs and constants.
  [[nodiscard]] std::optional<ir::NodeId> producer(ir::ValueId value) const {
    return graph_.producer(root(value));
  }
  /// The operator of a value's producer, if it is of this kind.
  template <typename Op>
  [[nodiscard]] const Op* made_by(ir::ValueId value) const {
    const auto node = producer(value);
    return node ? std::get_if<Op>(&graph_.node(*node).op) : nullptr;
  }
  /// Nodes that read a value, in their order.
  [[nodiscard]] const std::vector<ir::NodeId>& readers(ir::ValueId value) const;
  /// The node that reads a value, if no other does and it is no output.
  [[nodiscard]] std::optional<ir::NodeId> only_reader(ir::ValueId value) const;
  /// Whether nodes may run together at a position: those that they read from come before it, and
  /// those that read from them behind it.
  [[nodiscard]] bool can_run_at(std::span<const ir::NodeId> nodes, std::size_t position) const;

 private:
  const ir::Graph& graph_;
  std::vector<ir::NodeId> order_;
  std::map<ir::NodeId, std::size_t> positions_;
  std::map<ir::ValueId, std::vector<ir::NodeId>> readers_;  ///< by root
  std::vector<ir::ValueId> outputs_;                        ///< their roots
};

}  // namespace halftone::gpu
