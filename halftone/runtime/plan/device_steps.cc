// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/device_steps.h"

#include <algorithm>
#include <vector>

#include "halftone/ir/work.h"

namespace halftone::runtime {
namespace {

/// A Reshape, which moves nothing and may lie between steps of any kind.
bool moves_nothing(const ir::Graph& graph, const PlanStep& step) {
  return std::holds_alternative<ir::Reshape>(graph.node(step.node).op);
}

bool has_products(const ir::Graph& graph, const PlanStep& step) {
  return ir::work_of(graph, graph.node(step.node)).products() > 0;
}

/// Where the values of a plan have been computed or copied to, by root; constants are nowhere.
class Homes {
 public:
  explicit Homes(Plan::Parts& plan)
      : plan_(plan), on_device_(plan.storage.size()), on_processor_(plan.storage.size()) {
    for (const ir::ValueId id : plan.graph.inputs()) on_processor_[root(id)] = true;
  }

  void visit(PlanStep& step) {
    if (moves_nothing(plan_.graph, step)) return;
    std::vector<bool>& here = step.device != nullptr ? on_device_ : on_processor_;
    std::vector<bool>& elsewhere = step.device != nullptr ? on_processor_ : on_device_;
    for (const ir::ValueId input : step.inputs) {
      if (input == ir::kAbsent || here[root(input)] || !elsewhere[root(input)]) continue;
      step.copied.push_back(root_of(input));
      here[root(input)] = true;
    }
    here[root(step.output)] = true;
    elsewhere[root(step.output)] = false;
  }

  /// Values that a caller or the next run reads.
  void finish() {
    std::vector<ir::ValueId> read(plan_.outputs);
    for (const PlanState& state : plan_.states) read.push_back(state.values.after);
    for (const ir::ValueId id : read) {
      if (id == ir::kAbsent || on_processor_[root(id)] || !on_device_[root(id)]) continue;
      plan_.results.push_back(root_of(id));
      on_processor_[root(id)] = true;
    }
  }

 private:
  [[nodiscard]] ir::ValueId root_of(ir::ValueId id) const {
    return plan_.storage[static_cast<std::size_t>(id)].root;
  }
  [[nodiscard]] std::size_t root(ir::ValueId id) const {
    return static_cast<std::size_t>(root_of(id));
  }

  Plan::Parts& plan_;
  std::vector<bool> on_device_;
  std::vector<bool> on_processor_;
};

}  // namespace

void choose_device(const StepDevice& device, const NodeContext& context, PlanStep& step) {
  if (moves_nothing(context.graph, step)) return;
  DeviceChoice choice = device.choose(context, step);
  step.device = std::move(choice.kernel);
  step.on_processor = std::move(choice.refusal);
}

void keep_worthwhile_runs(const ir::Graph& graph, std::span<PlanStep> steps) {
  for (std::size_t first = 0; first < steps.size();) {
    if (steps[first].device == nullptr) {
      ++first;
      continue;
    }
    std::size_t end = first;
    bool is_worthwhile = false;
    for (; end < steps.size(); ++end) {
      if (steps[end].device == nullptr && !moves_nothing(graph, steps[end])) break;
      is_worthwhile = is_worthwhile || has_products(graph, steps[end]);
    }
    for (PlanStep& step : steps.subspan(first, end - first)) {
      if (step.device == nullptr) continue;
      if (is_worthwhile) {
        Kernel empty;
        empty.packed_inputs = std::move(step.body.packed_inputs);
        step.body = std::move(empty);
      } else {
        step.device = nullptr;
        step.on_processor = "copying its values would take longer";
      }
    }
    first = end;
  }
}

void find_copies(Plan::Parts& plan) {
  Homes homes(plan);
  for (PlanStep& step : plan.steps) homes.visit(step);
  homes.finish();
}

}  // namespace halftone::runtime
