// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "halftone/runtime/plan/planner.h"

namespace halftone::runtime {
namespace {

using Guards = std::set<Guard>;

/// The steps of a plan by the values that they compute.
class Producers {
 public:
  explicit Producers(const std::vector<PlanStep>& steps) {
    for (std::size_t s = 0; s < steps.size(); ++s) steps_.emplace(steps[s].output, s);
  }
  [[nodiscard]] std::optional<std::size_t> operator[](ir::ValueId id) const {
    const auto found = steps_.find(id);
    return found == steps_.end() ? std::nullopt : std::optional(found->second);
  }

 private:
  std::map<ir::ValueId, std::size_t> steps_;
};

/// Whether a step takes all of its output from one of two inputs.
bool chooses(const ir::Graph& graph, const PlanStep& step) {
  if (!std::holds_alternative<ir::Where>(graph.node(step.node).op)) return false;
  const ir::ValueId condition = step.inputs[0];
  return graph.constant(condition) == nullptr &&
         graph.value(condition).type.shape.element_count() == 1;
}

/// Adds a use of a value, which only some guards need.
void meet(std::optional<Guards>& all, const Guards& use) {
  if (!all) {
    all = use;
  } else {
    std::erase_if(*all, [&](const Guard& guard) { return !use.contains(guard); });
  }
}

/// The guards that all uses of the output of a step have in common. Readers come later than what
/// they read, so their own guards are known.
std::vector<Guards> common_guards(const Plan::Parts& plan, const Producers& producers) {
  std::vector<std::optional<Guards>> needed(plan.steps.size());
  for (const ir::ValueId id : plan.graph.outputs()) {
    if (const auto step = producers[id]) meet(needed[*step], {});
  }
  for (std::size_t s = plan.steps.size(); s-- > 0;) {
    const PlanStep& step = plan.steps[s];
    if (!needed[s]) needed[s].emplace();
    const bool is_choice = chooses(plan.graph, step);
    for (std::size_t i = 0; i < step.inputs.size(); ++i) {
      const auto producer =
          step.inputs[i] == ir::kAbsent ? std::nullopt : producers[step.inputs[i]];
      if (!producer) continue;
      Guards use = *needed[s];
      if (is_choice && i > 0) use.insert({step.inputs[0], i == 1});
      meet(needed[*producer], use);
    }
  }
  std::vector<Guards> guards;
  for (auto& use : needed) guards.push_back(std::move(*use));
  return guards;
}

/// The order of steps in which each follows what it reads and its conditions; among those that are
/// ready, the first of the old order comes first. No condition depends on a step that it guards:
/// that step would have a use without the guard.
std::vector<std::size_t> guarded_order(const std::vector<PlanStep>& steps,
                                       const Producers& producers) {
  std::vector<std::vector<std::size_t>> followers(steps.size());
  std::vector<std::size_t> missing(steps.size());
  const auto follow = [&](ir::ValueId value, std::size_t step) {
    const auto producer = value == ir::kAbsent ? std::nullopt : producers[value];
    if (!producer) return;
    followers[*producer].push_back(step);
    ++missing[step];
  };
  for (std::size_t s = 0; s < steps.size(); ++s) {
    for (const ir::ValueId input : steps[s].inputs) follow(input, s);
    for (const Guard& guard : steps[s].guards) follow(guard.condition, s);
  }
  std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
  for (std::size_t s = 0; s < steps.size(); ++s) {
    if (missing[s] == 0) ready.push(s);
  }
  std::vector<std::size_t> order;
  while (!ready.empty()) {
    order.push_back(ready.top());
    ready.pop();
    for (const std::size_t follower : followers[order.back()]) {
      if (--missing[follower] == 0) ready.push(follower);
    }
  }
  return order;
}

std::string text_of(const ir::Graph& graph, const Guard& guard) {
  return "; only where '" + graph.value(guard.condition).name + "' is " +
         (guard.holds ? "true" : "false");
}

}  // namespace

void guard_branches(Plan::Parts& plan) {
  const auto is_choice = [&](const PlanStep& step) { return chooses(plan.graph, step); };
  if (std::ranges::none_of(plan.steps, is_choice)) return;
  const Producers producers(plan.steps);
  const std::vector<Guards> guards = common_guards(plan, producers);
  for (std::size_t s = 0; s < plan.steps.size(); ++s) {
    plan.steps[s].guards.assign(guards[s].begin(), guards[s].end());
    for (const Guard& guard : guards[s]) plan.steps[s].reason += text_of(plan.graph, guard);
  }
  std::vector<PlanStep> steps;
  for (const std::size_t s : guarded_order(plan.steps, producers)) {
    steps.push_back(std::move(plan.steps[s]));
  }
  plan.steps = std::move(steps);
}

}  // namespace halftone::runtime
