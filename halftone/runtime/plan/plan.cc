// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/plan/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/runtime/onednn/onednn.h"
#include "halftone/runtime/plan/arena.h"
#include "halftone/runtime/plan/prepare.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

const PlanOptions& checked(const PlanOptions& options) {
  constexpr int kMaxThreads = 1024;
  if (options.batch < 1) fail(ErrorKind::kUsage, "batch: expected at least 1, found 0");
  if (options.threads < 1 || options.threads > kMaxThreads) {
    fail(ErrorKind::kUsage, "threads of a plan: expected 1 to " + std::to_string(kMaxThreads) +
                                ", found " + std::to_string(options.threads));
  }
  return options;
}

/// Of the candidates up to the first that accepts without a cost, the cheapest.
const Implementation& choose(std::span<const Implementation> candidates, const NodeContext& context,
                             Step& step) {
  const Implementation* chosen = nullptr;
  Verdict best;
  const auto refuse_by = [&step](const Implementation& who, std::string reason) {
    step.refused.push_back({std::string(who.name), std::move(reason)});
  };
  const auto with_cost = [](const Verdict& verdict) {
    const double us = *verdict.cost_us;
    return fmt::format("{}: about {:.{}f} us", verdict.reason, us, us < 10 ? 2 : 0);
  };
  for (const Implementation& candidate : candidates) {
    Verdict verdict = candidate.judge(context);
    if (!verdict.accepted) {
      refuse_by(candidate, std::move(verdict.reason));
    } else if (chosen == nullptr) {
      chosen = &candidate;
      best = std::move(verdict);
      if (!best.cost_us) break;
    } else if (!verdict.cost_us) {
      break;
    } else if (*verdict.cost_us < *best.cost_us) {
      refuse_by(*chosen, with_cost(best));
      chosen = &candidate;
      best = std::move(verdict);
    } else {
      refuse_by(candidate, with_cost(verdict));
    }
  }
  if (chosen == nullptr) {
    fail(ErrorKind::kInternal, ir::describe(context.node) + ": no implementation takes it");
  }
  step.kernel = std::string(chosen->name);
  step.reason = best.cost_us ? with_cost(best) : best.reason;
  return *chosen;
}

Step make_step(const NodeContext& context, ir::NodeId id) {
  const ir::Node& node = context.node;
  Step step;
  step.node = id;
  step.name = node.name;
  step.op = std::string(ir::name_of(node.op));
  const Implementation& chosen = choose(implementations(node.op), context, step);
  step.body = with_context(ir::describe(node), [&] { return chosen.create(context); });
  return step;
}

/// Whether a step's output is the memory of its first input.
bool is_alias(const ir::Node& node) { return std::holds_alternative<ir::Reshape>(node.op); }

/// The lives of everything in the arena, in the order values first, then scratch of the steps.
class Lives {
 public:
  Lives(const ir::Graph& graph, std::span<const CodeLayout> layouts)
      : graph_(graph), layouts_(layouts), roots_(graph.num_values()) {
    for (std::size_t v = 0; v < roots_.size(); ++v) roots_[v] = v;
    pieces_.resize(roots_.size());
  }

  /// @param steps  the number of steps
  void collect(std::span<const Step> steps) {
    // Inputs stay as written for the next run, outputs until they have been read.
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
  /// The value whose memory a value is.
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

Plan::Plan(ir::Graph graph, const PlanOptions& options)
    : options_(checked(options)),
      graph_(prepare(std::move(graph), options.batch, options.int8_activations)),
      layouts_(choose_code_layouts(graph_, options.int8_activations)) {
  for (const ir::ValueId id : graph_.inputs()) {
    const ir::Value& value = graph_.value(id);
    if (!value.type.encoding.is_dense()) {
      fail(ErrorKind::kUnsupported,
           "input '" + value.name + "': expected dense elements, found " + value.type.to_string());
    }
  }
  choose_kernels();
  release_packed_constants();
  lay_out_memory();
}

void Plan::choose_kernels() {
  const OneDnnThreads guard(options_.threads);
  for (const ir::NodeId id : graph_.topological_order()) {
    steps_.push_back(make_step(
        {graph_, graph_.node(id), options_.threads, options_.int8_activations, layouts_}, id));
  }
}

void Plan::release_packed_constants() {
  std::vector<std::size_t> packed(graph_.num_values());
  for (const Step& step : steps_) {
    const std::vector<ir::ValueId>& inputs = graph_.node(step.node).inputs;
    for (const std::size_t i : step.body.packed_inputs) {
      if (i < inputs.size() && inputs[i] != ir::kAbsent) {
        ++packed[static_cast<std::size_t>(inputs[i])];
      }
    }
  }
  for (std::size_t v = 0; v < packed.size(); ++v) {
    const ir::ValueId id{static_cast<std::uint32_t>(v)};
    if (packed[v] != 0 && packed[v] == graph_.num_uses(id)) graph_.release_constant(id);
  }
}

void Plan::lay_out_memory() {
  Lives lives(graph_, layouts_);
  lives.collect(steps_);
  const ArenaLayout layout = plan_arena(lives.pieces());
  arena_bytes_ = layout.size_bytes;
  const std::size_t num_values = graph_.num_values();
  storage_.resize(num_values);
  for (std::size_t v = 0; v < num_values; ++v) {
    const std::size_t root = lives.root(v);
    const ir::Constant* constant = graph_.constant(ir::ValueId{static_cast<std::uint32_t>(root)});
    if (constant == nullptr) {
      storage_[v] = {nullptr, layout.offsets[root], lives.pieces()[root].bytes, layouts_[root]};
    } else if (const auto* dense = std::get_if<ir::Tensor>(constant)) {
      storage_[v] = {dense->bytes().data(), 0, dense->bytes().size(), CodeLayout::kPlanes};
    }
  }
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    steps_[s].scratch_offset = layout.offsets[num_values + s];
  }
}

std::size_t Plan::constant_bytes() const {
  std::size_t sum = 0;
  for (std::size_t v = 0; v < graph_.num_values(); ++v) {
    const ir::Constant* constant = graph_.constant(ir::ValueId{static_cast<std::uint32_t>(v)});
    if (constant == nullptr) continue;
    const auto* codes = std::get_if<ir::EncodedTensor>(constant);
    sum += codes != nullptr ? codes->codes.planes.words().size_bytes()
                            : std::get<ir::Tensor>(*constant).bytes().size();
  }
  return sum;
}

std::size_t Plan::packed_weight_bytes() const {
  std::size_t sum = 0;
  for (const Step& step : steps_) sum += step.body.packed_bytes;
  return sum;
}

std::shared_ptr<const Plan> make_plan(ir::Graph graph, const PlanOptions& options) {
  return std::make_shared<const Plan>(std::move(graph), options);
}

}  // namespace halftone::runtime
