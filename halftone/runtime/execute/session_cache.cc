// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/session_cache.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "halftone/base/memory.h"
#include "halftone/runtime/execute/session.h"

namespace halftone::runtime {

SessionCache::SessionCache(std::uint64_t max_idle_bytes) : max_idle_bytes_(max_idle_bytes) {}
SessionCache::~SessionCache() = default;
SessionCache::SessionCache(SessionCache&& other) noexcept = default;
SessionCache& SessionCache::operator=(SessionCache&& other) noexcept = default;

Session* SessionCache::find(std::span<const ir::Shape> shapes) {
  const auto known = std::ranges::find_if(
      entries_, [&](const Entry& entry) { return std::ranges::equal(entry.shapes, shapes); });
  if (known == entries_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, known);
  return entries_.front().session.get();
}

Session& SessionCache::add(std::vector<ir::Shape> shapes, std::shared_ptr<const Plan> plan,
                           std::shared_ptr<StateMemory> states) {
  const std::uint64_t weights = plan->packed_weight_bytes() + plan->constant_bytes();
  require_memory(weights, "weights of a plan");
  Entry entry{std::move(shapes), nullptr, weights + plan->arena_bytes()};
  entry.session = std::make_unique<Session>(std::move(plan), std::move(states));
  entries_.push_front(std::move(entry));
  forget_idle();
  return *entries_.front().session;
}

Session* SessionCache::last() const {
  return entries_.empty() ? nullptr : entries_.front().session.get();
}

void SessionCache::forget_idle() {
  std::uint64_t idle = 0;
  auto entry = std::next(entries_.begin());
  for (; entry != entries_.end(); ++entry) {
    idle += entry->bytes;
    if (idle > max_idle_bytes_) break;
  }
  entries_.erase(entry, entries_.end());
}

}  // namespace halftone::runtime
