// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/value_memory.h"

#include "halftone/gpu/graph/uses.h"

namespace halftone::gpu {

ValueMemory::ValueMemory(GpuDevice& device, const ir::Graph& graph)
    : device_(device), graph_(graph) {
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent) ++readers_[root(input)];
    }
  }
  // Who runs the graph reads its outputs.
  for (const ir::ValueId output : graph.outputs()) ++readers_[root(output)];
}

ir::ValueId ValueMemory::root(ir::ValueId value) const { return root_of(graph_, value); }

const Buffer& ValueMemory::make(ir::ValueId value, std::size_t size_bytes) {
  const std::size_t index = take(size_bytes);
  taken_[root(value)] = index;
  return *buffers_[index];
}

const Buffer& ValueMemory::of(ir::ValueId value) const {
  const auto found = lent_.find(root(value));
  return found != lent_.end() ? *found->second : *buffers_[taken_.at(root(value))];
}

void ValueMemory::read(ir::ValueId value) {
  const ir::ValueId from = root(value);
  if (--readers_[from] != 0) return;
  const auto found = taken_.find(from);
  if (found == taken_.end()) return;
  free_.emplace(buffers_[found->second]->size_bytes(), found->second);
  taken_.erase(found);
}

const Buffer& ValueMemory::scratch(std::size_t size_bytes) {
  const std::size_t index = take(size_bytes);
  free_.emplace(buffers_[index]->size_bytes(), index);
  return *buffers_[index];
}

const Buffer& ValueMemory::hold(std::size_t size_bytes) {
  const std::size_t index = take(size_bytes);
  held_[buffers_[index].get()] = index;
  return *buffers_[index];
}

void ValueMemory::release(const Buffer& held) {
  const auto found = held_.find(&held);
  free_.emplace(held.size_bytes(), found->second);
  held_.erase(found);
}

std::size_t ValueMemory::take(std::size_t size_bytes) {
  // Not a much larger one: few values are large.
  const auto found = free_.lower_bound(size_bytes);
  if (found != free_.end() && found->first <= 2 * size_bytes) {
    const std::size_t index = found->second;
    free_.erase(found);
    return index;
  }
  buffers_.push_back(device_.allocate(size_bytes));
  return buffers_.size() - 1;
}

}  // namespace halftone::gpu
