// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/session.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/runtime/onednn/onednn.h"

namespace halftone::runtime {
namespace {

/// The memory of a session; checks that all of it is available before allocating.
AlignedBuffer make_arena(const Plan& plan) {
  require_memory(plan.arena_bytes(),
                 "a session of batch " + std::to_string(plan.options().batch) + ", its values");
  return AlignedBuffer(plan.arena_bytes());
}

}  // namespace

Session::Session(std::shared_ptr<const Plan> plan)
    : plan_(std::move(plan)), arena_(make_arena(*plan_)) {
  for (const Step& step : plan_->steps()) calls_.push_back(bind(step));
}

Call Session::bind(const Step& step) {
  if (!step.body.bind) return {};
  const OneDnnThreads guard(step.threads);
  Call call = step.body.bind(buffers_of(step));
  if (step.threads == plan_->options().threads) return call;
  return [call = std::move(call), threads = step.threads] {
    const OneDnnThreads fewer(threads);
    call();
  };
}

ValueView Session::view(ir::ValueId id) const {
  const Storage& storage = plan_->storage(id);
  const std::byte* data =
      storage.constant != nullptr ? storage.constant : arena_.data() + storage.offset;
  return {plan_->graph().value(id).type, {data, storage.bytes}, storage.layout};
}

Buffers Session::buffers_of(const Step& step) {
  const ir::Node& node = plan_->graph().node(step.node);
  Buffers buffers;
  for (const ir::ValueId id : node.inputs) {
    buffers.inputs.push_back(id == ir::kAbsent ? nullptr : view(id).bytes.data());
  }
  for (const std::size_t i : step.body.packed_inputs) {
    if (i < buffers.inputs.size()) buffers.inputs[i] = nullptr;
  }
  buffers.output = arena_.data() + plan_->storage(node.output).offset;
  buffers.scratch = arena_.data() + step.scratch_offset;
  return buffers;
}

void Session::check_inputs(std::span<const ir::Tensor> inputs) const {
  const ir::Graph& graph = plan_->graph();
  if (inputs.size() != graph.inputs().size()) {
    fail(ErrorKind::kShape, "inputs of the graph: expected " +
                                std::to_string(graph.inputs().size()) + ", found " +
                                std::to_string(inputs.size()));
  }
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = graph.value(graph.inputs()[i]);
    if (inputs[i].type() != value.type) {
      fail(ErrorKind::kShape, "input '" + value.name + "': expected " + value.type.to_string() +
                                  ", found " + inputs[i].type().to_string());
    }
  }
}

std::vector<ir::Tensor> Session::run(std::span<const ir::Tensor> inputs) {
  check_inputs(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::copy(inputs[i].bytes().begin(), inputs[i].bytes().end(), input(i).begin());
  }
  run();
  std::vector<ir::Tensor> outputs;
  for (std::size_t i = 0; i < plan_->graph().outputs().size(); ++i) {
    outputs.push_back(output_tensor(i));
  }
  return outputs;
}

void Session::run() {
  const OneDnnThreads guard(plan_->options().threads);
  if (!observers_.empty()) return run_observed();
  for (const Call& call : calls_) {
    if (call) call();
  }
}

void Session::run_observed() {
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    const ir::Node& node = plan_->graph().node(plan_->steps()[s].node);
    const auto start = std::chrono::steady_clock::now();
    if (calls_[s]) calls_[s]();
    const auto stop = std::chrono::steady_clock::now();
    const StepEvent event{s, node, view(node.output), start, stop};
    for (const Observer& observer : observers_) observer(event);
  }
}

std::span<std::byte> Session::input(std::size_t index) {
  const Storage& storage = plan_->storage(plan_->graph().inputs()[index]);
  return arena_.bytes().subspan(storage.offset, storage.bytes);
}

ValueView Session::output(std::size_t index) const { return view(plan_->graph().outputs()[index]); }

ir::Tensor Session::output_tensor(std::size_t index) const {
  const ir::ValueId id = plan_->graph().outputs()[index];
  const ir::Constant* constant = plan_->graph().constant(id);
  if (constant != nullptr && std::holds_alternative<ir::EncodedTensor>(*constant)) {
    return ir::to_float(*constant);
  }
  return to_tensor(view(id));
}

}  // namespace halftone::runtime
