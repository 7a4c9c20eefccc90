// SPDX-License-Identifier: Apache-2.0
// Values at a cut of a network, stored for all samples. Later values are computed from them
// instead of from the network's inputs.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// Finds the values that later nodes still read, by position in the order of execution.
class LiveValues {
 public:
  /// @param graph  may grow afterwards; nodes that are added later are unknown here
  explicit LiveValues(const ir::Graph& graph);

  /// Inputs of the graph and outputs of earlier nodes that this or a later node reads. This
  /// node and all later ones can be computed from them.
  [[nodiscard]] std::vector<ir::ValueId> before(ir::NodeId node) const;
  /// The same, but this node counts as an earlier one.
  [[nodiscard]] std::vector<ir::ValueId> after(ir::NodeId node) const;

 private:
  /// Positions of nodes, from 1; an input is computed at 0.
  struct Life {
    std::size_t computed = 0;
    std::size_t last_read = 0;
  };
  [[nodiscard]] std::vector<ir::ValueId> at(std::size_t position) const;

  std::map<ir::NodeId, std::size_t> positions_;
  std::map<ir::ValueId, Life> lives_;  ///< of values that are not constant
};

/// The values of a cut: one tensor for each value and each batch of this process.
class Cut {
 public:
  Cut() = default;
  Cut(std::vector<ir::ValueId> values, std::size_t num_batches);

  [[nodiscard]] const std::vector<ir::ValueId>& values() const { return values_; }
  [[nodiscard]] bool contains(ir::ValueId id) const;
  /// @param tensors  of all values(), in their order
  void store(std::size_t batch, std::vector<ir::Tensor> tensors);
  /// Pointers to the tensors of some values; empty if the batch is not stored.
  /// @pre contains() each of them
  [[nodiscard]] std::vector<const ir::Tensor*> tensors(std::span<const ir::ValueId> values,
                                                       std::size_t batch) const;

 private:
  std::vector<ir::ValueId> values_;
  std::vector<std::vector<ir::Tensor>> batches_;  ///< empty where a batch is not stored
};

/// A part of a graph whose inputs are values of a cut.
struct CutGraph {
  ir::Graph graph;
  std::vector<ir::ValueId> inputs;  ///< values of the whole graph, one per input of `graph`
};

/// The part of a graph that computes `outputs` from a cut; nullopt if the cut does not
/// suffice.
std::optional<CutGraph> graph_behind(const Cut& cut, const ir::Graph& graph,
                                     std::span<const ir::ValueId> outputs);

}  // namespace halftone::compress
