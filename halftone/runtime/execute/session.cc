// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/session.h"

#include <algorithm>
#include <cstdint>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/sequence/sequence.h"

namespace halftone::runtime {
namespace {

/// The memory of a session; checks that all of it is available before allocating.
AlignedBuffer make_arena(const Plan& plan) {
  require_memory(plan.arena_bytes(),
                 "a session of batch " + std::to_string(plan.options().batch) + ", its values");
  return AlignedBuffer(plan.arena_bytes());
}

bool is_aligned(const std::byte* data, const ir::ValueType& type) {
  return reinterpret_cast<std::uintptr_t>(data) % size_bytes(type.encoding.element) == 0;
}

/// Memory of the caller's.
struct Piece {
  std::string what;
  std::span<const std::byte> bytes;
};

void check_count(const std::string& what, std::size_t expected, std::size_t found) {
  if (found == expected) return;
  fail(ErrorKind::kShape, what + " of the graph: expected " + std::to_string(expected) +
                              ", found " + std::to_string(found));
}

void check_size(const Piece& piece, std::size_t expected) {
  if (piece.bytes.size() == expected) return;
  fail(ErrorKind::kShape, piece.what + ": expected " + std::to_string(expected) + " bytes, found " +
                              std::to_string(piece.bytes.size()));
}

/// Checks that the last piece overlaps none before it.
void check_apart(std::span<const Piece> pieces) {
  const std::span<const std::byte> last = pieces.back().bytes;
  for (const Piece& other : pieces.first(pieces.size() - 1)) {
    if (last.empty() || other.bytes.empty()) continue;
    if (last.data() >= other.bytes.data() + other.bytes.size()) continue;
    if (other.bytes.data() >= last.data() + last.size()) continue;
    fail(ErrorKind::kUsage, pieces.back().what + ": its memory overlaps that of " + other.what);
  }
}

}  // namespace

std::size_t StateMemory::bytes_for(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanState& state : plan.states()) bytes += state.bytes;
  return bytes;
}

StateMemory::StateMemory(const Plan& plan) {
  require_memory(bytes_for(plan), "the states of the network");
  buffers_.emplace_back();
  std::size_t shared_bytes = 0;
  for (const PlanState& state : plan.states()) {
    Place place{.cache = cache_of(plan.graph(), state.values), .bytes = state.bytes};
    if (place.cache && place.cache->sequences > 1) {
      place.offset = shared_bytes;
      shared_bytes += AlignedBuffer::rounded_up(state.bytes);
    } else {
      place.buffer = buffers_.size();
      buffers_.emplace_back(state.bytes, false);
    }
    states_.push_back(place);
  }
  if (shared_bytes > 0) buffers_[0] = PagedBuffer(shared_bytes);
}

StatePart StateMemory::part(const Place& place) {
  return {buffers_[place.buffer], place.offset, place.bytes};
}

std::span<std::byte> StateMemory::state(std::size_t index) {
  const StatePart at = part(states_[index]);
  return at.memory.bytes().subspan(at.offset, at.bytes);
}

std::size_t StateMemory::size_bytes() const {
  std::size_t bytes = 0;
  for (const Place& place : states_) bytes += place.bytes;
  return bytes;
}

void StateMemory::copy_front(const SequenceCopy& copy) {
  for (const Place& place : states_) runtime::copy_front(place.cache, copy, part(place));
}

void StateMemory::prepare_rows(const SequenceRows& rows) {
  for (const Place& place : states_) {
    if (place.cache) runtime::prepare_rows(*place.cache, rows, part(place));
  }
}

void StateMemory::clear() {
  for (PagedBuffer& buffer : buffers_) buffer.clear();
}

void StateMemory::check(const Plan& plan) const {
  const auto same_size = [](const Place& place, const PlanState& state) {
    return place.bytes == state.bytes;
  };
  if (std::ranges::equal(states_, plan.states(), same_size)) return;
  fail(ErrorKind::kUsage, "states: expected " + std::to_string(plan.states().size()) +
                              " of the sizes of the plan, found " + std::to_string(count()));
}

Session::Session(std::shared_ptr<const Plan> plan, std::shared_ptr<StateMemory> states,
                 std::span<std::byte> arena)
    : plan_(std::move(plan)),
      states_(std::move(states)),
      own_arena_(arena.empty() ? make_arena(*plan_) : AlignedBuffer()),
      arena_(arena.empty() ? own_arena_.bytes() : arena),
      attached_(plan_->graph().num_values()),
      moved_(plan_->steps().size()) {
  if (states_ == nullptr && !plan_->states().empty()) {
    states_ = std::make_shared<StateMemory>(*plan_);
  }
  if (states_ != nullptr) states_->check(*plan_);
  const auto& device = plan_->options().execution.device;
  has_guards_ = std::ranges::any_of(plan_->steps(),
                                    [](const PlanStep& step) { return !step.guards.empty(); });
  const auto is_there = [](const PlanStep& step) { return step.device != nullptr; };
  if (std::ranges::any_of(plan_->steps(), is_there)) device_ = device->make_session(*plan_);
  for (const PlanStep& step : plan_->steps()) calls_.push_back(bind(step));
  if (plan_->rest() != nullptr) later_ = std::make_unique<LaterStages>(plan_);
}

std::byte* Session::home(const Storage& storage) const {
  if (storage.state) return states_->state(*storage.state).data();
  return arena_.data() + storage.offset;
}

std::span<std::byte> Session::memory_of(ir::ValueId id) const {
  const Storage& storage = plan_->storage(id);
  std::byte* const attached = attached_[static_cast<std::size_t>(storage.root)];
  return {attached != nullptr ? attached : home(storage), storage.bytes};
}

std::vector<Session::Copy> Session::copies_of(const PlanStep& step) const {
  std::vector<Copy> copies;
  for (const ir::ValueId root : step.copied) copies.push_back({root, memory_of(root)});
  return copies;
}

Call Session::bind(const PlanStep& step) {
  if (step.device != nullptr) return bind_on_device(step);
  Call call = bind_on_processor(step);
  if (step.copied.empty()) return call;
  return [device = device_.get(), copies = copies_of(step), call = std::move(call)] {
    for (const auto& [root, memory] : copies) device->read(root, memory);
    call();
  };
}

Call Session::bind_on_device(const PlanStep& step) {
  const auto index = static_cast<std::size_t>(&step - plan_->steps().data());
  return [device = device_.get(), copies = copies_of(step), index] {
    for (const auto& [root, memory] : copies) device->write(root, memory);
    device->run(index);
  };
}

Call Session::bind_on_processor(const PlanStep& step) {
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
  const std::byte* data = storage.constant;
  if (data == nullptr) data = attached_[static_cast<std::size_t>(storage.root)];
  if (data == nullptr) data = home(storage);
  return {plan_->graph().value(id).type, {data, storage.bytes}, storage.layout};
}

Buffers Session::buffers_of(const PlanStep& step) {
  Buffers buffers;
  for (const ir::ValueId id : step.inputs) {
    buffers.inputs.push_back(id == ir::kAbsent ? nullptr : view(id).bytes.data());
  }
  for (const std::size_t i : step.body.packed_inputs) {
    if (i < buffers.inputs.size()) buffers.inputs[i] = nullptr;
  }
  buffers.output = memory_of(step.output).data();
  buffers.scratch = arena_.data() + step.scratch_offset;
  return buffers;
}

void Session::check_inputs(std::span<const ir::Tensor> inputs) const {
  const ir::Graph& graph = plan_->graph();
  check_count("inputs", plan_->inputs().size(), inputs.size());
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::Value& value = graph.value(plan_->inputs()[i]);
    if (inputs[i].type() != value.type) {
      fail(ErrorKind::kShape, "input '" + value.name + "': expected " + value.type.to_string() +
                                  ", found " + inputs[i].type().to_string());
    }
  }
}

void Session::check_memory(std::span<const std::span<const std::byte>> inputs,
                           std::span<const std::span<std::byte>> outputs) const {
  const ir::Graph& graph = plan_->graph();
  check_count("inputs", plan_->inputs().size(), inputs.size());
  check_count("outputs", plan_->outputs().size(), outputs.size());
  std::vector<Piece> pieces;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    pieces.push_back({"input '" + graph.value(plan_->inputs()[i]).name + "'", inputs[i]});
    check_size(pieces.back(), plan_->storage(plan_->inputs()[i]).bytes);
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::Value& value = graph.value(plan_->outputs()[i]);
    if (!value.type.shape.is_static() && outputs[i].empty()) continue;
    pieces.push_back({"output '" + value.name + "'", outputs[i]});
    check_size(pieces.back(), output_bytes(i));
    check_apart(pieces);
  }
}

std::vector<ir::Tensor> Session::run(std::span<const ir::Tensor> inputs) {
  check_inputs(inputs);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::copy(inputs[i].bytes().begin(), inputs[i].bytes().end(), input(i).begin());
  }
  run();
  std::vector<ir::Tensor> outputs;
  for (std::size_t i = 0; i < plan_->outputs().size(); ++i) {
    outputs.push_back(output_tensor(i));
  }
  return outputs;
}

void Session::run() {
  for (std::size_t v = 0; v < attached_.size(); ++v) {
    attach(ir::ValueId{static_cast<std::uint32_t>(v)}, nullptr);
  }
  run_steps();
}

void Session::run(std::span<const std::span<const std::byte>> inputs,
                  std::span<const std::span<std::byte>> outputs) {
  check_memory(inputs, outputs);
  const ir::Graph& graph = plan_->graph();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const ir::ValueId id = plan_->inputs()[i];
    const bool fits = is_aligned(inputs[i].data(), graph.value(id).type);
    // A run does not write to its inputs.
    attach(id, fits ? const_cast<std::byte*>(inputs[i].data()) : nullptr);
    if (!fits) std::copy(inputs[i].begin(), inputs[i].end(), input(i).begin());
  }
  std::vector<std::size_t> copied;
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    const ir::ValueId id = plan_->outputs()[i];
    const bool may = may_attach_output(i);
    const bool fits = may && is_aligned(outputs[i].data(), graph.value(id).type);
    if (may) attach(plan_->storage(id).root, fits ? outputs[i].data() : nullptr);
    const bool is_known = graph.value(id).type.shape.is_static();
    if (!fits && is_known) copied.push_back(i);
  }
  run_steps();
  for (const std::size_t i : copied) {
    const ir::Tensor values = output_tensor(i);
    std::copy(values.bytes().begin(), values.bytes().end(), outputs[i].begin());
  }
}

bool Session::may_attach_output(std::size_t index) const {
  if (later_output(index)) return false;
  const ir::Graph& graph = plan_->graph();
  const ir::ValueId id = plan_->outputs()[index];
  const ir::ValueId root = plan_->storage(id).root;
  const auto has_root = [&](ir::ValueId other) { return plan_->storage(other).root == root; };
  return graph.constant(root) == nullptr && graph.value(id).type.encoding.is_dense() &&
         std::ranges::none_of(graph.inputs(), has_root) &&
         std::ranges::none_of(plan_->outputs().first(index), has_root);
}

void Session::attach(ir::ValueId root, std::byte* data) {
  std::byte*& now = attached_[static_cast<std::size_t>(root)];
  if (now == data) return;
  now = data;
  const auto is_there = [&](ir::ValueId id) {
    return id != ir::kAbsent && plan_->graph().constant(id) == nullptr &&
           plan_->storage(id).root == root;
  };
  for (std::size_t s = 0; s < moved_.size(); ++s) {
    const PlanStep& step = plan_->steps()[s];
    if (is_there(step.output) || std::ranges::any_of(step.inputs, is_there)) moved_[s] = 1;
  }
}

bool Session::is_needed(const PlanStep& step) const {
  return std::ranges::all_of(step.guards, [this](const Guard& guard) {
    return (view(guard.condition).bytes[0] != std::byte{0}) == guard.holds;
  });
}

void Session::run_steps() {
  begin_states();
  const OneDnnThreads guard(plan_->options().threads);
  for (std::size_t s = 0; s < moved_.size(); ++s) {
    if (moved_[s] == 0) continue;
    calls_[s] = bind(plan_->steps()[s]);
    moved_[s] = 0;
  }
  if (!observers_.empty()) {
    run_observed();
  } else {
    for (std::size_t s = 0; s < calls_.size(); ++s) {
      if (calls_[s] && (!has_guards_ || is_needed(plan_->steps()[s]))) calls_[s]();
    }
  }
  for (const ir::ValueId root : plan_->results()) device_->read(root, memory_of(root));
  keep_states();
  if (later_ != nullptr) later_->run([this](ir::ValueId id) { return view(id); });
}

void Session::begin_states() {
  for (std::size_t i = 0; i < plan_->states().size(); ++i) {
    const PlanState& state = plan_->states()[i];
    if (!state.in_place)
      std::ranges::copy(states_->state(i), home(plan_->storage(state.values.before)));
  }
}

void Session::keep_states() {
  for (std::size_t i = 0; i < plan_->states().size(); ++i) {
    const PlanState& state = plan_->states()[i];
    if (state.in_place || state.values.after == ir::kAbsent) continue;
    std::ranges::copy(view(state.values.after).bytes, states_->state(i).begin());
  }
}

void Session::run_observed() {
  for (std::size_t s = 0; s < calls_.size(); ++s) {
    const PlanStep& step = plan_->steps()[s];
    const auto start = std::chrono::steady_clock::now();
    if (calls_[s]) calls_[s]();
    if (step.device != nullptr) device_->finish();
    const auto stop = std::chrono::steady_clock::now();
    if (step.device != nullptr) {  // for the observers
      device_->read(plan_->storage(step.output).root, memory_of(step.output));
    }
    const StepEvent event{s, plan_->graph().node(step.node), view(step.output), start, stop};
    for (const Observer& observer : observers_) observer(event);
  }
}

std::span<std::byte> Session::input(std::size_t index) {
  const Storage& storage = plan_->storage(plan_->inputs()[index]);
  return arena_.subspan(storage.offset, storage.bytes);
}

ValueView Session::input_view(std::size_t index) const { return view(plan_->inputs()[index]); }

std::optional<std::size_t> Session::later_output(std::size_t index) const {
  if (later_ == nullptr) return std::nullopt;
  const std::span<const ir::ValueId> all = plan_->outputs();
  const std::span<const ir::ValueId> now = plan_->graph().outputs();
  const std::span<const ir::ValueId> later = plan_->rest()->graph.outputs();
  if (std::ranges::count(now, all[index]) > 0) return std::nullopt;
  return static_cast<std::size_t>(std::ranges::find(later, all[index]) - later.begin());
}

std::size_t Session::output_bytes(std::size_t index) const {
  const ir::Value& value = plan_->graph().value(plan_->outputs()[index]);
  const ir::ValueType& type = value.type;
  if (!type.shape.is_static()) {
    fail(ErrorKind::kUsage, "output '" + value.name + "' " + type.to_string() +
                                ": its size depends on data, so a run cannot write it to memory "
                                "of a given size");
  }
  return type.shape.element_count() * size_bytes(type.encoding.element);
}

ValueView Session::output(std::size_t index) const {
  if (const auto later = later_output(index)) return later_->last().output(*later);
  return view(plan_->outputs()[index]);
}

ir::Tensor Session::output_tensor(std::size_t index) const {
  if (const auto later = later_output(index)) return later_->last().output_tensor(*later);
  const ir::ValueId id = plan_->outputs()[index];
  const ir::Constant* constant = plan_->graph().constant(id);
  if (constant != nullptr && std::holds_alternative<ir::EncodedTensor>(*constant)) {
    return ir::to_float(*constant);
  }
  return to_tensor(view(id));
}

}  // namespace halftone::runtime
