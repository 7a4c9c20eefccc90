// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/graph/graph_launches.h"

#include "halftone/gpu/graph/step_launches.h"

namespace halftone::gpu {

DeviceStates::DeviceStates(GpuDevice& device, const ir::Graph& graph) {
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
      uses_(graph),
      memory_(constants.programs().device(), graph) {
  for (const ir::ValueId id : graph.untied(graph.inputs())) {
    const std::size_t count = graph.value(id).type.shape.with_batch(rows).element_count();
    inputs_.push_back(constants.programs().device().allocate(count * sizeof(float)));
    memory_.lend(id, *inputs_.back());
  }
  for (const LaunchStep& step : steps_of(graph)) {
    StepLaunches(*this, step).add();
    for (const ir::NodeId id : step.nodes) {
      for (const ir::ValueId input : graph.node(id).inputs) {
        if (input != ir::kAbsent) memory_.read(input);
      }
    }
  }
}

const Buffer& GraphLaunches::floats_of(ir::ValueId value) {
  const ir::ValueId root = memory_.root(value);
  const SharedConstant& constant = graph_.value(root).constant;
  return constant != nullptr ? constants_.floats(constant) : memory_.of(root);
}

GraphLaunches::Encoded& GraphLaunches::encoded(std::size_t rows,
                                               const kernels::GroupExtents& extents) {
  Encoded& encoded = encoded_[{extents.cols, extents.encoding(), extents.piece(), rows}];
  if (encoded.rows == nullptr) {
    encoded.rows = std::make_unique<GroupInputs>(programs(), rows, extents);
  }
  return encoded;
}

ProductInput GraphLaunches::product_input(ir::ValueId value, const kernels::GroupExtents& extents) {
  const ir::ValueId from = memory_.root(value);
  const std::size_t rows = extents.cols == 0 ? 0 : shape_of(value).element_count() / extents.cols;
  Encoded& known = encoded(rows, extents);
  if (known.of != from) {
    if (rows < kManyRows) return {floats_of(value), rows};
    launches_.push_back(known.rows->encode(floats_of(value)));
    known.of = from;
  }
  return *known.rows;
}

const Buffer& GraphLaunches::output() const { return memory_.of(graph_.outputs()[0]); }

void GraphLaunches::run() {
  if (replay_ == nullptr) replay_ = programs().device().prepare(launches_);
  replay_->run();
}

}  // namespace halftone::gpu
