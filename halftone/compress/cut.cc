// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/cut.h"

#include <algorithm>
#include <utility>

namespace halftone::compress {
namespace {

/// Copies nodes of a graph and their dependencies, back to the values of a cut.
class CutCopy {
 public:
  CutCopy(const Cut& cut, const ir::Graph& graph) : cut_(cut), graph_(graph) {}

  /// nullopt if it needs an input of the graph that is not in the cut.
  std::optional<CutGraph> copy(std::span<const ir::ValueId> outputs) {
    for (const ir::ValueId output : outputs) {
      if (!find_nodes(output)) return std::nullopt;
    }
    for (const ir::NodeId id : graph_.topological_order()) {
      if (!std::ranges::binary_search(nodes_, id)) continue;
      const ir::Node& node = graph_.node(id);
      std::vector<ir::ValueId> inputs;
      for (const ir::ValueId input : node.inputs) inputs.push_back(copy_of(input));
      copies_[node.output] = result_.graph.add_node(node.name, node.op, std::move(inputs),
                                                    graph_.value(node.output).name);
    }
    for (const ir::ValueId output : outputs) result_.graph.add_output(copy_of(output));
    return std::move(result_);
  }

 private:
  /// Adds the nodes between the cut and a value to nodes_, which stays sorted.
  bool find_nodes(ir::ValueId output) {
    std::vector<ir::ValueId> open{output};
    while (!open.empty()) {
      const ir::ValueId id = open.back();
      open.pop_back();
      if (id == ir::kAbsent || cut_.contains(id) || graph_.constant(id) != nullptr) continue;
      const auto producer = graph_.producer(id);
      if (!producer) return false;
      const auto at = std::ranges::lower_bound(nodes_, *producer);
      if (at != nodes_.end() && *at == *producer) continue;
      nodes_.insert(at, *producer);
      const std::vector<ir::ValueId>& inputs = graph_.node(*producer).inputs;
      open.insert(open.end(), inputs.begin(), inputs.end());
    }
    return true;
  }

  ir::ValueId copy_of(ir::ValueId id) {
    if (id == ir::kAbsent) return id;
    const auto found = copies_.find(id);
    if (found != copies_.end()) return found->second;
    const ir::Value& value = graph_.value(id);
    if (value.constant != nullptr) {
      return copies_[id] = result_.graph.add_constant(value.name, value.constant);
    }
    result_.inputs.push_back(id);
    return copies_[id] = result_.graph.add_input(value.name, value.type);
  }

  const Cut& cut_;
  const ir::Graph& graph_;
  CutGraph result_;
  std::vector<ir::NodeId> nodes_;
  std::map<ir::ValueId, ir::ValueId> copies_;
};

}  // namespace

LiveValues::LiveValues(const ir::Graph& graph) {
  for (const ir::ValueId id : graph.inputs()) lives_[id] = {};
  for (const ir::NodeId id : graph.topological_order()) {
    const std::size_t position = positions_.size() + 1;
    positions_[id] = position;
    const ir::Node& node = graph.node(id);
    for (const ir::ValueId input : node.inputs) {
      const auto life = lives_.find(input);
      if (life != lives_.end()) life->second.last_read = position;
    }
    lives_[node.output] = {position, 0};
  }
}

std::vector<ir::ValueId> LiveValues::before(ir::NodeId node) const {
  return at(positions_.at(node));
}

std::vector<ir::ValueId> LiveValues::after(ir::NodeId node) const {
  return at(positions_.at(node) + 1);
}

std::vector<ir::ValueId> LiveValues::at(std::size_t position) const {
  std::vector<ir::ValueId> values;
  for (const auto& [id, life] : lives_) {
    if (life.computed < position && life.last_read >= position) values.push_back(id);
  }
  return values;
}

Cut::Cut(std::vector<ir::ValueId> values, std::size_t num_batches)
    : values_(std::move(values)), batches_(num_batches) {
  std::ranges::sort(values_);
}

bool Cut::contains(ir::ValueId id) const { return std::ranges::binary_search(values_, id); }

void Cut::store(std::size_t batch, std::vector<ir::Tensor> tensors) {
  batches_.at(batch) = std::move(tensors);
}

std::vector<const ir::Tensor*> Cut::tensors(std::span<const ir::ValueId> values,
                                            std::size_t batch) const {
  if (batch >= batches_.size() || batches_[batch].empty()) return {};
  std::vector<const ir::Tensor*> tensors;
  for (const ir::ValueId id : values) {
    const auto at = std::ranges::lower_bound(values_, id) - values_.begin();
    tensors.push_back(&batches_[batch][static_cast<std::size_t>(at)]);
  }
  return tensors;
}

std::optional<CutGraph> graph_behind(const Cut& cut, const ir::Graph& graph,
                                     std::span<const ir::ValueId> outputs) {
  if (cut.values().empty()) return std::nullopt;
  return CutCopy(cut, graph).copy(outputs);
}

}  // namespace halftone::compress
