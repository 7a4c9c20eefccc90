// SPDX-License-Identifier: Apache-2.0
// A plan: the kernels that compute a graph, in order. It is the whole interface between planning
// and execution.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/runtime/execution_options.h"
#include "halftone/runtime/kernel.h"
#include "halftone/runtime/plan/tuning.h"
#include "halftone/runtime/step_device.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

struct PlanSettings {
  std::size_t batch = 1;  ///< samples per run: the extent of ir::kBatch; ignored if the graph has a
                          ///< fixed batch
  int threads = 1;        ///< threads one run may use; with one, every run of the plan, in any
                          ///< thread or session, gives the same bits
  ExecutionOptions execution{};
};

/// An implementation that was considered but not chosen.
struct Refusal {
  std::string kernel;
  std::string reason;
};

/// A condition of a step: a computed boolean, and what it must be.
struct Guard {
  ir::ValueId condition{};
  bool holds = true;
  auto operator<=>(const Guard&) const = default;
};

/// One node of a plan, perhaps with conversions of codes around it.
struct PlanStep {
  ir::NodeId node{};
  std::vector<ir::ValueId> inputs;  ///< those of the node, or codes of them
  ir::ValueId output{};             ///< that of the node, or codes of it
  std::string name;                 ///< of the node
  std::string op;                   ///< "FullyConnected", "Tanh", ...
  std::string kernel;  ///< name of the implementation: "xnor_popcount", "onednn_f32", ...
  KernelArithmetic arithmetic = KernelArithmetic::kOperator;
  std::string reason;  ///< why it accepted the node
  std::string slow;    ///< why it may be slower than float32; empty: it should not be
  std::optional<MeasuredMethod> measured;  ///< the fastest way, if there was a choice to measure
  std::vector<Refusal> refused;            ///< candidates that were not chosen, and why
  Kernel body;
  /// Unless all hold, no other step reads the output, and a run may leave the step out.
  std::vector<Guard> guards{};
  std::size_t scratch_offset = 0;                ///< of body.scratch_bytes in the arena
  int threads = 1;                               ///< that oneDNN may use
  std::shared_ptr<const DeviceKernel> device{};  ///< null: the processor runs it
  std::string on_processor{};                    ///< why, if the plan has a device
  /// Roots of the inputs that are copied before the step, because they were computed elsewhere: to
  /// the device if that runs the step, else from it.
  std::vector<ir::ValueId> copied{};
};

/// Where a value is stored: in the arena of a session, in its states, or in a constant of the
/// graph.
struct Storage {
  const std::byte* constant = nullptr;
  std::size_t offset = 0;            ///< in the arena, if it is stored there
  std::optional<std::size_t> state;  ///< index in Plan::states(), of one that changes in place
  std::size_t bytes = 0;             ///< 0 for codes that only their kernel reads
  CodeLayout layout = CodeLayout::kPlanes;
  ir::ValueId root{};  ///< the value whose memory it is: itself, or what it is a Reshape of
};

/// A state of the graph and its memory.
struct PlanState {
  ir::State values;
  std::size_t bytes = 0;
  /// Whether the run changes the state where it is: an AppendRows or a recurrence alone reads it.
  /// If not, a run copies it first, since outputs and other states may be what it was, and ends
  /// with a copy.
  bool in_place = false;
};

/// What a plan leaves to later ones, since extents depend on data: see LaterStages.
struct PlanRest {
  ir::Graph graph;                      ///< its inputs are values of the plan, under the same ids
  std::vector<ir::Definition> defined;  ///< numbers that a run of the plan computes
};

/// A graph prepared to run: a kernel for every node, packed weights, the layout of one arena.
/// Immutable and shared by the sessions that run it.
class Plan {
 public:
  struct Parts {
    PlanSettings options;
    ir::Graph graph;
    std::vector<PlanStep> steps;
    std::vector<PlanState> states;
    std::vector<ir::ValueId> inputs;   ///< of the graph, without states
    std::vector<ir::ValueId> outputs;  ///< the same
    std::vector<Storage> storage;      ///< by value
    std::size_t arena_bytes = 0;
    std::vector<ir::ValueId> results;  ///< roots that are copied from the device behind all steps
    std::shared_ptr<const PlanRest> rest;  ///< shared with the sessions' later plans; may be null
  };
  explicit Plan(Parts parts) : parts_(std::move(parts)) {}

  [[nodiscard]] const PlanSettings& options() const { return parts_.options; }
  /// The graph with a fixed batch, without unused nodes and with equal encodings merged. Its value
  /// ids are those of the original graph. Constants that kernels have packed are released except
  /// for their names and types.
  [[nodiscard]] const ir::Graph& graph() const { return parts_.graph; }
  /// The inputs that a caller gives: those of the graph without its states.
  [[nodiscard]] std::span<const ir::ValueId> inputs() const { return parts_.inputs; }
  /// The outputs that a caller gets. Of a plan with a rest, other values than the graph's outputs.
  [[nodiscard]] std::span<const ir::ValueId> outputs() const { return parts_.outputs; }
  /// What runs behind the steps, of a network that computes some of its extents; else null.
  [[nodiscard]] const PlanRest* rest() const { return parts_.rest.get(); }
  [[nodiscard]] std::span<const PlanState> states() const { return parts_.states; }
  /// In order of execution.
  [[nodiscard]] std::span<const PlanStep> steps() const { return parts_.steps; }
  [[nodiscard]] const Storage& storage(ir::ValueId value) const {
    return parts_.storage[static_cast<std::size_t>(value)];
  }
  /// Memory of the kernels, once per plan.
  [[nodiscard]] std::size_t packed_weight_bytes() const;
  /// What a run reads of it, at most.
  [[nodiscard]] std::size_t weight_bytes_of_run() const;
  /// Memory of the constants that no kernel packed, once per plan.
  [[nodiscard]] std::size_t constant_bytes() const;
  /// Memory of the values and of scratch, once per session.
  [[nodiscard]] std::size_t arena_bytes() const { return parts_.arena_bytes; }
  /// Roots of outputs and states that are copied from the device at the end of a run.
  [[nodiscard]] std::span<const ir::ValueId> results() const { return parts_.results; }
  /// Bytes of values.
  [[nodiscard]] std::size_t bytes_of(std::span<const ir::ValueId> values) const;
  /// Memory of the device for weights and tables, once per plan.
  [[nodiscard]] std::size_t device_constant_bytes() const;

 private:
  Parts parts_;
};

/// Makes a plan; of a network that computes some of its extents, one of what comes before these.
/// What it computes depends only on the graph and the options; a measurement, if the options ask
/// for it, decides only how.
/// @throws Error kUsage if an option is out of range; kFormat or kShape as ir::verify(), or if
///         the shapes do not fit the batch; kUnsupported if a graph input is encoded, or if no
///         kernel computes the arithmetic that a layer has as an attribute
std::shared_ptr<const Plan> make_plan(ir::Graph graph, const PlanSettings& options = {});

}  // namespace halftone::runtime
