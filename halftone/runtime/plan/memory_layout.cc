// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <map>
#include <numeric>

#include "halftone/base/buffer.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/sequence/sequence.h"

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

  void collect(std::span<const PlanStep> steps) {
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
  [[nodiscard]] bool is_alias(const PlanStep& step) const {
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

bool meet(const Lifetime& a, const Lifetime& b) { return a.first <= b.last && b.first <= a.last; }

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

ArenaLayout plan_arena(std::span<const Lifetime> pieces) {
  ArenaLayout layout;
  layout.offsets.resize(pieces.size(), 0);
  std::vector<std::size_t> order(pieces.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return pieces[a].bytes > pieces[b].bytes; });
  std::vector<std::size_t> placed;  // in ascending order of offset
  for (const std::size_t piece : order) {
    std::size_t offset = 0;
    for (const std::size_t other : placed) {
      if (!meet(pieces[piece], pieces[other])) continue;
      if (offset + pieces[piece].bytes <= layout.offsets[other]) break;
      offset =
          std::max(offset, AlignedBuffer::rounded_up(layout.offsets[other] + pieces[other].bytes));
    }
    layout.offsets[piece] = offset;
    layout.size_bytes = std::max(layout.size_bytes, offset + pieces[piece].bytes);
    const auto after = std::find_if(placed.begin(), placed.end(), [&](std::size_t other) {
      return layout.offsets[other] > offset;
    });
    placed.insert(after, piece);
  }
  return layout;
}

}  // namespace halftone::runtime
