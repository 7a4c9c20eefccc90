// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/decode/device_rows.h"

#include <set>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/gpu/rows.h"

namespace halftone::lm {
namespace {

std::size_t weight_bytes(const DecoderGraphs& graphs) {
  std::set<const ir::Constant*> seen;
  std::size_t bytes = 0;
  for (const ir::Graph* graph : {&graphs.body, &graphs.head}) {
    for (std::size_t i = 0; i < graph->num_values(); ++i) {
      const ir::Constant* constant = graph->constant(static_cast<ir::ValueId>(i));
      if (constant != nullptr && seen.insert(constant).second) {
        bytes += ir::storage_bytes(*constant);
      }
    }
  }
  return bytes;
}

/// @throws Error kUnsupported unless a device has kernels for all nodes
void check_operators(const DecoderGraphs& graphs) {
  for (const ir::Graph* graph : {&graphs.body, &graphs.head}) {
    const std::string list = gpu::unsupported_on_device(*graph);
    if (list.empty()) continue;
    fail(ErrorKind::kUnsupported,
         "a device has no kernels yet for " + list + " of this model; it runs on the processor");
  }
}

/// @throws Error kDevice if weights and states are more than the memory of a device
void check_memory(const DecoderGraphs& graphs, const gpu::DeviceInfo& info) {
  const std::size_t weights = weight_bytes(graphs);
  std::size_t states = 0;
  std::size_t context = 1;
  for (const ir::State& state : graphs.body.states()) {
    states += runtime::state_bytes(graphs.body, state);
    context = static_cast<std::size_t>(graphs.body.value(state.before).type.shape[1]);
  }
  if (weights + states <= info.memory_bytes) return;
  const std::size_t left = weights < info.memory_bytes ? info.memory_bytes - weights : 0;
  const std::size_t fits = left / (states / context + 1);
  fail(ErrorKind::kDevice, info.id() + ": weights of " + std::to_string(weights) +
                               " bytes and keys and values of " + std::to_string(states) +
                               " bytes do not fit its " + std::to_string(info.memory_bytes) +
                               " bytes: there is room for " + std::to_string(fits) + " tokens");
}

std::unique_ptr<gpu::GpuDevice> open_for(const DecoderGraphs& graphs,
                                         const DecoderOptions& options) {
  if (!options.execution.int8_activations) {
    fail(ErrorKind::kUnsupported,
         "a device rounds activations to 8 bits: float activations are "
         "for the processor");
  }
  check_operators(graphs);
  std::unique_ptr<gpu::GpuDevice> device = gpu::open_device(options.device);
  check_memory(graphs, device->info());
  return device;
}

}  // namespace

DeviceRows::DeviceRows(const DecoderGraphs& graphs, const DecoderOptions& options)
    : graphs_(graphs),
      device_(open_for(graphs, options)),
      programs_(*device_),
      constants_(programs_),
      states_(*device_, graphs.body) {
  body_of(1);
  head_of(1);
}

gpu::GraphLaunches& DeviceRows::body_of(std::size_t rows) {
  auto& body = bodies_[rows];
  if (body == nullptr) {
    body = std::make_unique<gpu::GraphLaunches>(graphs_.body, rows, constants_, &states_);
  }
  return *body;
}

gpu::GraphLaunches& DeviceRows::head_of(std::size_t rows) {
  auto& head = heads_[rows];
  if (head == nullptr) {
    head = std::make_unique<gpu::GraphLaunches>(graphs_.head, rows, constants_, nullptr);
  }
  return *head;
}

void DeviceRows::run_body(std::span<const DecoderRow> rows) {
  gpu::GraphLaunches& body = body_of(rows.size());
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> slots;
  std::vector<std::int32_t> positions;
  for (const DecoderRow& row : rows) {
    ids.push_back(row.token);
    slots.push_back(static_cast<std::int32_t>(row.sequence));
    positions.push_back(static_cast<std::int32_t>(row.position));
  }
  device_->write(body.input(0), 0, std::as_bytes(std::span(ids)));
  device_->write(body.input(1), 0, std::as_bytes(std::span(slots)));
  device_->write(body.input(2), 0, std::as_bytes(std::span(positions)));
  body.run();
}

void DeviceRows::run_head(std::size_t rows, std::span<const std::size_t> wanted,
                          std::span<float> logits) {
  // Rows that follow one another are copied together.
  for (std::size_t first = 0; first < wanted.size();) {
    std::size_t count = 1;
    while (first + count < wanted.size() && wanted[first + count] == wanted[first] + count) ++count;
    count = next_run(count, wanted.size());
    const std::size_t vocabulary = logits.size() / wanted.size();
    run_head_of({rows, wanted[first], count},
                logits.subspan(first * vocabulary, count * vocabulary));
    first += count;
  }
}

void DeviceRows::run_head_of(const HiddenRows& rows, std::span<float> logits) {
  const gpu::Buffer& hidden = body_of(rows.rows).output();
  const auto width =
      static_cast<std::size_t>(graphs_.body.value(graphs_.body.outputs()[0]).type.shape.back());
  gpu::GraphLaunches& head = head_of(rows.count);
  auto& replay = head_replays_[rows];
  if (replay == nullptr) {
    std::vector<gpu::Launch> launches = {
        gpu::copy_columns(programs_, {1, rows.rows * width, rows.first * width, rows.count * width},
                          hidden, head.input(0))};
    launches.insert(launches.end(), head.launches().begin(), head.launches().end());
    replay = device_->prepare(launches);
  }
  replay->run();
  device_->read(head.output(), 0, std::as_writable_bytes(logits));
}

}  // namespace halftone::lm
