// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/polling.h"

#include <atomic>
#include <thread>

namespace halftone {

void yield_unless_busy() noexcept {
  using Clock = std::chrono::steady_clock;
  constexpr std::chrono::microseconds kLong{1000};
  constexpr std::chrono::milliseconds kBusy{50};
  static std::atomic<Clock::rep> busy_until{0};
  const Clock::time_point begin = Clock::now();
  if (begin.time_since_epoch().count() < busy_until.load(std::memory_order_relaxed)) {
    return relax();
  }
  std::this_thread::yield();
  const Clock::time_point end = Clock::now();
  if (end - begin < kLong) return;
  busy_until.store((end + kBusy).time_since_epoch().count(), std::memory_order_relaxed);
}

}  // namespace halftone
