// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/state_memory.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"

namespace halftone::runtime {

std::size_t StateMemory::bytes_for(const Plan& plan) {
  std::size_t bytes = 0;
  for (const PlanState& state : plan.states()) bytes += state.bytes;
  return bytes;
}

StateMemory::StateMemory(const Plan& plan) {
  require_memory(bytes_for(plan), "the states of the network");
  for (const PlanState& state : plan.states()) buffers_.emplace_back(state.bytes);
}

std::size_t StateMemory::size_bytes() const {
  std::size_t bytes = 0;
  for (const AlignedBuffer& buffer : buffers_) bytes += buffer.bytes().size();
  return bytes;
}

void StateMemory::clear() {
  for (AlignedBuffer& buffer : buffers_) std::ranges::fill(buffer.bytes(), std::byte{0});
}

void StateMemory::check(const Plan& plan) const {
  const auto same_size = [](const AlignedBuffer& buffer, const PlanState& state) {
    return buffer.bytes().size() == state.bytes;
  };
  if (std::ranges::equal(buffers_, plan.states(), same_size)) return;
  fail(ErrorKind::kUsage, "states: expected " + std::to_string(plan.states().size()) +
                              " of the sizes of the plan, found " + std::to_string(count()));
}

}  // namespace halftone::runtime
