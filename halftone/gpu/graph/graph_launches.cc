// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/graph_launches.h"

#include "halftone/gpu/graph/node_launches.h"

namespace halftone::gpu {

DeviceStates::DeviceStates(Device& device, const ir::Graph& graph) {
  for (const ir::State& state : graph.states()) {
    caches_.emplace(state.after, device.allocate(runtime::state_bytes(graph, state)));
  }
}

std::size_t DeviceStates::size_bytes() const {
  std::size_t bytes = 0;
  for (const auto& [value, cache] : caches_) bytes += cache->size_bytes();
  return bytes;
}

GraphLaunches::GraphLaunches(const ir::Graph& graph, std::size_t rows, DeviceConstants& constants,
                             const DeviceStates* states)
    : graph_(graph),
      rows_(rows),
      constants_(constants),
      states_(states),
      memory_(constants.programs().device(), graph) {
  for (const ir::ValueId id : graph.untied(graph.inputs())) {
    const std::size_t count = graph.value(id).type.shape.with_batch(rows).element_count();
    inputs_.push_back(constants.programs().device().allocate(count * sizeof(float)));
    memory_.lend(id, *inputs_.back());
  }
  for (const ir::NodeId id : graph.topological_order()) {
    const ir::Node& node = graph.node(id);
    if (std::holds_alternative<ir::Reshape>(node.op)) continue;
    NodeLaunches(*this, node).add();
    for (const ir::ValueId input : node.inputs) {
      if (input != ir::kAbsent) memory_.read(input);
    }
  }
}

const Buffer& GraphLaunches::output() const { return memory_.of(graph_.outputs()[0]); }

void GraphLaunches::run() {
  Device& device = constants_.programs().device();
  for (const Launch& launch : launches_) device.launch(launch);
}

}  // namespace halftone::gpu
