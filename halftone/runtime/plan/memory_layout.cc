// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/memory_layout.h"

#include <algorithm>
#include <map>

#include "halftone/runtime/plan/arena.h"
#include "halftone/runtime/sequence/cache.h"

namespace halftone::runtime {
namespace {

/// The lifetimes of all buffers in the arena: values first, then the scratch memory of the steps.
class Lives {
 public:
  Lives(const Plan::Parts& plan, std::span<const CodeLayout> layouts)
      : graph_(plan.graph), states_(plan.states), layouts_(layouts), roots_(graph_.num_values()) {
    for (std::size_t v = 0; v < roots_.size(); ++v) roots_[v] = v;
    pieces_.resize(roots_.size());
  }

  void collect(std::span<const Step> steps) {
    // Inputs keep their contents for the next run; outputs live until they are read.
    for (const ir::ValueId id : graph_.inputs()) {
      if (!changes_in_place(id)) begin(id, 0);
    }
    for (std::size_t s = 0; s < steps.size(); ++s) {
      for (const ir::ValueId input : steps[s].inputs) {
        if (input != ir::kAbsent) extend(input, s);
      }
      if (is_alias(steps[s])) {
        roots_[index(steps[s].output)] = roots_[index(steps[s].inputs[0])];
      } else {
        begin(steps[s].output, s);
      }
    }
    for (const ir::ValueId id : graph_.inputs()) extend(id, steps.size());
    for (const ir::ValueId id : graph_.outputs()) extend(id, steps.size());
    for (std::size_t s = 0; s < steps.size(); ++s) {
      pieces_.push_back({steps[s].body.scratch_bytes, s, s});
    }
  }

  [[nodiscard]] std::span<const Lifetime> pieces() const { return pieces_; }
  /// The value whose memory a value shares, or the value itself.
  [[nodiscard]] std::size_t root(std::size_t value) const { return roots_[value]; }

 private:
  static std::size_t index(ir::ValueId id) { return static_cast<std::size_t>(id); }
  [[nodiscard]] bool changes_in_place(ir::ValueId id) const {
    return std::ranges::any_of(states_, [&](const PlanState& state) {
      return state.in_place && state.values.before == id;
    });
  }
  /// Whether a step's output shares the memory of its first input.
  [[nodiscard]] bool is_alias(const Step& step) const {
    if (std::holds_alternative<ir::Reshape>(graph_.node(step.node).op)) return true;
    return std::ranges::any_of(states_, [&](const PlanState& state) {
      return state.in_place && state.values.after == step.output;
    });
  }
  void begin(ir::ValueId id, std::size_t step) {
    pieces_[index(id)] = {value_bytes(graph_.value(id).type, layouts_[index(id)]), step, step};
  }
  void extend(ir::ValueId id, std::size_t step) {
    Lifetime& piece = pieces_[roots_[index(id)]];
    piece.last = std::max(piece.last, step);
  }

  const ir::Graph& graph_;
  std::span<const PlanState> states_;  ///< those in place are outside of the arena
  std::span<const CodeLayout> layouts_;
  std::vector<std::size_t> roots_;
  std::vector<Lifetime> pieces_;
};

/// The states of a graph, its other inputs and its other outputs.
void list_ends(Plan::Parts& plan) {
  const ir::Graph& graph = plan.graph;
  for (const ir::State& state : graph.states()) {
    plan.states.push_back({state, state_bytes(graph, state), changes_in_place(graph, state)});
  }
  plan.inputs = graph.untied(graph.inputs());
  plan.outputs = graph.untied(graph.outputs());
}

}  // namespace

void lay_out_memory(std::span<const CodeLayout> layouts, Plan::Parts& plan) {
  list_ends(plan);
  Lives lives(plan, layouts);
  lives.collect(plan.steps);
  const ArenaLayout arena = plan_arena(lives.pieces());
  plan.arena_bytes = arena.size_bytes;
  const std::size_t num_values = plan.graph.num_values();
  plan.storage.resize(num_values);
  std::map<std::size_t, std::size_t> states;  // by value
  for (std::size_t i = 0; i < plan.states.size(); ++i) {
    if (!plan.states[i].in_place) continue;
    states.emplace(static_cast<std::size_t>(plan.states[i].values.before), i);
  }
  for (std::size_t v = 0; v < num_values; ++v) {
    const std::size_t root = lives.root(v);
    const ir::ValueId id{static_cast<std::uint32_t>(root)};
    const ir::Constant* constant = plan.graph.constant(id);
    Storage& storage = plan.storage[v];
    storage.root = id;
    if (const auto state = states.find(root); state != states.end()) {
      storage.state = state->second;
      storage.bytes = plan.states[state->second].bytes;
    } else if (constant == nullptr) {
      storage.offset = arena.offsets[root];
      storage.bytes = lives.pieces()[root].bytes;
      storage.layout = layouts[root];
    } else if (const auto* dense = std::get_if<ir::Tensor>(constant)) {
      storage.constant = dense->bytes().data();
      storage.bytes = dense->bytes().size();
    }
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].scratch_offset = arena.offsets[num_values + s];
  }
}

}  // namespace halftone::runtime
