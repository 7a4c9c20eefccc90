// SPDX-License-Identifier: Apache-2.0
// A running instance of a plan, and what it remembers from one run to the next.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/paged_buffer.h"
#include "halftone/kernels/attention/cache.h"
#include "halftone/runtime/execute/later_stages.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/sequence/sequence.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// The states of a graph, zeros at first. The sessions of several plans may share them, one run at
/// a time, if the states have the same sizes: plans of one graph whose states do not depend on the
/// batch.
class StateMemory {
 public:
  /// Bytes of the states of a plan.
  static std::size_t bytes_for(const Plan& plan);
  /// @throws Error kUnsupported if so much memory is not available
  explicit StateMemory(const Plan& plan);

  [[nodiscard]] std::size_t count() const { return states_.size(); }
  /// @param index  in Plan::states()
  [[nodiscard]] std::span<std::byte> state(std::size_t index);
  [[nodiscard]] std::size_t size_bytes() const;
  /// Gives a sequence the first tokens of another one, in all states: caches share their memory
  /// until one of both is written.
  /// @throws Error kMemory as PagedBuffer::copy()
  void copy_front(const SequenceCopy& copy);
  /// To be called before a run writes tokens of a sequence, if shared_bytes() is not 0.
  /// @throws Error kMemory as PagedBuffer::prepare_write()
  void prepare_rows(const SequenceRows& rows);
  /// Memory that copies would take if they were not shared.
  [[nodiscard]] std::size_t shared_bytes() const { return buffers_[0].shared_bytes(); }
  /// Makes all states zero again.
  void clear();
  /// @throws Error kUsage unless these are as large as the states of a plan
  void check(const Plan& plan) const;

 private:
  struct Place {
    std::optional<kernels::CacheShape> cache;  ///< where the state is one
    std::size_t buffer = 0;                    ///< index in buffers_
    std::size_t offset = 0;
    std::size_t bytes = 0;
  };
  [[nodiscard]] StatePart part(const Place& place);

  std::vector<Place> states_;
  /// The first one has all caches that sequences share, as each takes a file descriptor; then one
  /// for each other state.
  std::vector<PagedBuffer> buffers_;
};

/// The event that an observer receives after each step.
struct StepEvent {
  std::size_t step = 0;  ///< index in Plan::steps()
  const ir::Node& node;
  ValueView output;  ///< output of the step; valid during the call
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point stop;
};

using Observer = std::function<void(const StepEvent&)>;

/// Runs a plan on its own memory. One session runs on one thread at a time; several sessions of a
/// plan may run concurrently. After construction a run allocates nothing, except in "reference"
/// kernels and inside oneDNN.
///
/// Steps of a device leave their values there: what steps of the processor, observers and callers
/// read is copied.
///
/// Of a network that computes some of its extents, a run plans what lies behind them when it has
/// their numbers; observers see what lies before.
///
/// The states of a graph (ir::State) are not among the inputs: a run reads what the last one left.
class Session {
 public:
  /// @param states  null: states of its own, if the graph has any
  /// @param arena   memory of Plan::arena_bytes() for the values, aligned as AlignedBuffer, which a
  ///                run may find changed except for the inputs; empty: memory of its own
  /// @throws Error kUnsupported if the memory for the plan's batch is not available; nothing is
  ///         allocated then: "a session of batch N, its values: B bytes of memory are needed, ...";
  ///         kUsage as StateMemory::check(); kDevice as StepDevice::make_session(); a run throws
  ///         kDevice too if a device runs steps of the plan
  explicit Session(std::shared_ptr<const Plan> plan, std::shared_ptr<StateMemory> states = nullptr,
                   std::span<std::byte> arena = {});

  [[nodiscard]] const Plan& plan() const { return *plan_; }
  /// Null if the graph has no states.
  [[nodiscard]] const std::shared_ptr<StateMemory>& states() { return states_; }

  /// Makes the states what they are before the first run.
  void reset() {
    if (states_ != nullptr) states_->clear();
  }

  /// Checks the inputs, copies them in, runs, and copies the outputs out; encoded outputs are
  /// decoded to float32.
  /// @param inputs  one per input of the plan, of its type with the plan's batch
  /// @throws Error kShape "input 'NAME': expected TYPE, found TYPE", or if the number differs
  std::vector<ir::Tensor> run(std::span<const ir::Tensor> inputs);

  /// Runs on the contents of input(); the results are in output().
  void run();
  /// Runs on the caller's memory, row-major. Nothing is copied, except: what is not aligned to its
  /// element type; an output that is an input, a constant, another output or codes, which become
  /// float32. Steps are bound to new addresses, so a run on those of the last one starts sooner.
  /// Afterwards output() is in that memory where nothing was copied.
  /// @param inputs   one per input of the plan, of the size of input()
  /// @param outputs  one per output, of output_bytes(), or empty where that depends on data:
  ///                 output_tensor() has it after the run; none may overlap another or an input
  /// @throws Error kShape if a number or a size differs; kUsage if memory overlaps, or if the size
  ///         of an output depends on data; as Session()
  void run(std::span<const std::span<const std::byte>> inputs,
           std::span<const std::span<std::byte>> outputs);
  /// Memory of an input of the plan, to be written before run(); a run does not change it.
  [[nodiscard]] std::span<std::byte> input(std::size_t index);
  template <typename T>
  [[nodiscard]] std::span<T> input_as(std::size_t index) {
    const std::span<std::byte> bytes = input(index);
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }
  /// An input as the last run read it: in the caller's memory where nothing was copied.
  [[nodiscard]] ValueView input_view(std::size_t index) const;
  /// Bytes of an output for run() on the caller's memory: codes are decoded to float32.
  /// @throws Error kUsage if they depend on data
  [[nodiscard]] std::size_t output_bytes(std::size_t index) const;
  /// An output of the graph, valid until the next run.
  [[nodiscard]] ValueView output(std::size_t index) const;
  /// A copy of an output; codes are decoded to float32.
  [[nodiscard]] ir::Tensor output_tensor(std::size_t index) const;

  /// Calls `observer` after each step of every later run. Observers are called in the order they
  /// were added. Without observers a run does not read the clock, and leaves out the branches that
  /// it does not need.
  void add_observer(Observer observer) { observers_.push_back(std::move(observer)); }

 private:
  [[nodiscard]] ValueView view(ir::ValueId id) const;
  /// The index of an output in the last run of later stages; nothing if the steps compute it.
  [[nodiscard]] std::optional<std::size_t> later_output(std::size_t index) const;
  Call bind(const PlanStep& step);
  Call bind_on_processor(const PlanStep& step);
  Call bind_on_device(const PlanStep& step);
  /// A value that a step has copied, and its memory here.
  struct Copy {
    ir::ValueId root{};
    std::span<std::byte> memory;
  };
  [[nodiscard]] std::vector<Copy> copies_of(const PlanStep& step) const;
  Buffers buffers_of(const PlanStep& step);
  void check_inputs(std::span<const ir::Tensor> inputs) const;
  void check_memory(std::span<const std::span<const std::byte>> inputs,
                    std::span<const std::span<std::byte>> outputs) const;
  /// Where a value is unless it is in the caller's memory. @pre no constant
  [[nodiscard]] std::byte* home(const Storage& storage) const;
  /// Where a value is to be written. @pre no constant
  [[nodiscard]] std::span<std::byte> memory_of(ir::ValueId id) const;
  /// Puts a value into the caller's memory, or back home if that is null.
  void attach(ir::ValueId root, std::byte* data);
  [[nodiscard]] bool may_attach_output(std::size_t index) const;
  /// Whether the guards of a step hold.
  [[nodiscard]] bool is_needed(const PlanStep& step) const;
  void run_steps();
  void run_observed();
  /// Copies the new states over the old ones, where the run did not change them in place.
  void begin_states();
  void keep_states();

  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<StateMemory> states_;
  AlignedBuffer own_arena_;                ///< empty if somebody else owns the memory
  std::span<std::byte> arena_;             ///< of all values and scratch
  std::unique_ptr<DeviceSession> device_;  ///< null: the plan has no steps of a device
  bool has_guards_ = false;                ///< whether the plan has guarded steps
  std::vector<Call> calls_;                ///< one per step; empty if there is nothing to do
  std::vector<std::byte*> attached_;       ///< by value: the caller's memory; null: at home
  std::vector<std::uint8_t> moved_;  ///< by step: whether its memory changed since it was bound
  std::vector<Observer> observers_;
  std::unique_ptr<LaterStages> later_;  ///< null: the plan has no rest
};

}  // namespace halftone::runtime
