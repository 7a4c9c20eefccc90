// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/memory_layout.h"

#include <algorithm>

#include "halftone/runtime/plan/arena.h"

namespace halftone::runtime {
namespace {

/// Whether a step's output shares the memory of its first input.
bool is_alias(const ir::Node& node) { return std::holds_alternative<ir::Reshape>(node.op); }

/// The lifetimes of all buffers in the arena: values first, then the scratch memory of the steps.
class Lives {
 public:
  Lives(const ir::Graph& graph, std::span<const CodeLayout> layouts)
      : graph_(graph), layouts_(layouts), roots_(graph.num_values()) {
    for (std::size_t v = 0; v < roots_.size(); ++v) roots_[v] = v;
    pieces_.resize(roots_.size());
  }

  void collect(std::span<const Step> steps) {
    // Inputs keep their contents for the next run; outputs live until they are read.
    for (const ir::ValueId id : graph_.inputs()) begin(id, 0);
    for (std::size_t s = 0; s < steps.size(); ++s) {
      const ir::Node& node = graph_.node(steps[s].node);
      for (const ir::ValueId input : node.inputs) {
        if (input != ir::kAbsent) extend(input, s);
      }
      if (is_alias(node)) {
        roots_[index(node.output)] = roots_[index(node.inputs[0])];
      } else {
        begin(node.output, s);
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
  void begin(ir::ValueId id, std::size_t step) {
    pieces_[index(id)] = {value_bytes(graph_.value(id).type, layouts_[index(id)]), step, step};
  }
  void extend(ir::ValueId id, std::size_t step) {
    Lifetime& piece = pieces_[roots_[index(id)]];
    piece.last = std::max(piece.last, step);
  }

  const ir::Graph& graph_;
  std::span<const CodeLayout> layouts_;
  std::vector<std::size_t> roots_;
  std::vector<Lifetime> pieces_;
};

}  // namespace

void lay_out_memory(std::span<const CodeLayout> layouts, Plan::Parts& plan) {
  Lives lives(plan.graph, layouts);
  lives.collect(plan.steps);
  const ArenaLayout arena = plan_arena(lives.pieces());
  plan.arena_bytes = arena.size_bytes;
  const std::size_t num_values = plan.graph.num_values();
  plan.storage.resize(num_values);
  for (std::size_t v = 0; v < num_values; ++v) {
    const std::size_t root = lives.root(v);
    const ir::ValueId id{static_cast<std::uint32_t>(root)};
    const ir::Constant* constant = plan.graph.constant(id);
    if (constant == nullptr) {
      plan.storage[v] = {nullptr, arena.offsets[root], lives.pieces()[root].bytes, layouts[root],
                         id};
    } else if (const auto* dense = std::get_if<ir::Tensor>(constant)) {
      plan.storage[v] = {dense->bytes().data(), 0, dense->bytes().size(), CodeLayout::kPlanes, id};
    }
  }
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].scratch_offset = arena.offsets[num_values + s];
  }
}

}  // namespace halftone::runtime
