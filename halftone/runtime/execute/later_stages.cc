// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/later_stages.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/memory.h"
#include "halftone/ir/open_extents.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::runtime {

LaterStages::LaterStages(std::shared_ptr<const Plan> plan) : plan_(std::move(plan)) {}
LaterStages::~LaterStages() = default;

ir::Sizes LaterStages::sizes_of(const Values& values) const {
  ir::Sizes sizes;
  for (const auto& [symbol, id] : plan_->rest()->defined) {
    std::int64_t number = 0;
    std::memcpy(&number, values(id).bytes.data(), sizeof number);
    if (number < 0) {
      fail(ErrorKind::kShape, "extent " + symbol + ", which '" + plan_->graph().value(id).name +
                                  "' is: expected at least 0, found " + std::to_string(number));
    }
    sizes.emplace(symbol, number);
  }
  return sizes;
}

Session& LaterStages::session_for(const ir::Sizes& sizes) {
  const auto known = std::ranges::find(entries_, sizes, &Entry::sizes);
  if (known != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, known);
    return *entries_.front().session;
  }
  ir::Graph graph = plan_->rest()->graph;
  ir::fill_in_extents(graph, sizes);
  auto plan = make_plan(std::move(graph), plan_->options());
  Entry entry{sizes, nullptr,
              plan->packed_weight_bytes() + plan->constant_bytes() + plan->arena_bytes()};
  require_memory(plan->packed_weight_bytes() + plan->constant_bytes(), "weights of a plan");
  entry.session = std::make_unique<Session>(std::move(plan));
  entries_.push_front(std::move(entry));
  forget_idle();
  return *entries_.front().session;
}

void LaterStages::forget_idle() {
  std::uint64_t idle = 0;
  auto entry = std::next(entries_.begin());
  for (; entry != entries_.end(); ++entry) {
    idle += entry->bytes;
    if (idle > kMaxIdleBytes) break;
  }
  entries_.erase(entry, entries_.end());
}

void LaterStages::run(const Values& values) {
  Session& session = session_for(sizes_of(values));
  const std::span<const ir::ValueId> inputs = session.plan().inputs();
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::ranges::copy(values(inputs[i]).bytes, session.input(i).begin());
  }
  session.run();
}

const Session& LaterStages::last() const {
  if (!entries_.empty()) return *entries_.front().session;
  fail(ErrorKind::kUsage, "expected a run before its outputs, since extents depend on data");
}

}  // namespace halftone::runtime
