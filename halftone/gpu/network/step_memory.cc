// SPDX-License-Identifier: Apache-2.0
#include "halftone/gpu/network/step_memory.h"

#include <numeric>

#include "halftone/gpu/network/step_kernel.h"

namespace halftone::gpu {
namespace {

/// The last step that reads each value, by root; the number of steps for what is read behind them.
std::map<ir::ValueId, std::size_t> last_readers(const runtime::Plan& plan) {
  std::map<ir::ValueId, std::size_t> last;
  for (std::size_t s = 0; s < plan.steps().size(); ++s) {
    const runtime::PlanStep& step = plan.steps()[s];
    last.emplace(plan.storage(step.output).root, s);
    for (const ir::ValueId id : step.inputs) {
      if (id != ir::kAbsent) last[plan.storage(id).root] = s;
    }
  }
  for (const ir::ValueId root : plan.results()) last[root] = plan.steps().size();
  return last;
}

}  // namespace

StepBuffers::StepBuffers(const runtime::Plan& plan) : scratch_(plan.steps().size()) {
  const auto last = last_readers(plan);
  std::multimap<std::size_t, ir::ValueId> ends;  // by last reader
  const auto make = [&](ir::ValueId root) {
    if (!values_.emplace(root, 0).second) return;
    values_[root] = take(std::max<std::size_t>(plan.storage(root).bytes, 1));
    ends.emplace(last.at(root), root);
  };
  for (std::size_t s = 0; s < plan.steps().size(); ++s) {
    const runtime::PlanStep& step = plan.steps()[s];
    if (step.device != nullptr) {
      for (const ir::ValueId root : step.copied) make(root);
      make(plan.storage(step.output).root);
      for (const std::size_t bytes : static_cast<const StepKernel&>(*step.device).scratch_bytes) {
        scratch_[s].push_back(take(bytes));
      }
      for (const std::size_t index : scratch_[s]) release(index);
    }
    for (auto end = ends.begin(); end != ends.end() && end->first <= s; end = ends.erase(end)) {
      release(values_[end->second]);
    }
  }
}

std::size_t StepBuffers::total_bytes() const {
  return std::accumulate(sizes_.begin(), sizes_.end(), std::size_t{0});
}

std::size_t StepBuffers::take(std::size_t bytes) {
  // Not a much larger one: few values are large.
  const auto found = free_.lower_bound(bytes);
  if (found != free_.end() && found->first <= 2 * bytes) {
    const std::size_t index = found->second;
    free_.erase(found);
    return index;
  }
  sizes_.push_back(bytes);
  return sizes_.size() - 1;
}

}  // namespace halftone::gpu
