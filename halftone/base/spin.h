// SPDX-License-Identifier: Apache-2.0
// Waiting for a moment without sleeping.
#pragma once

#include <chrono>
#include <thread>

namespace halftone {

/// Polls done() for some microseconds, by default less than the system needs to put a thread to
/// sleep and wake it; not at all on a single core. @return whether it is done
template <typename Done>
bool spin_until(Done&& done, std::chrono::microseconds limit = std::chrono::microseconds(10)) {
  static const bool is_single_core = std::thread::hardware_concurrency() < 2;
  const auto end =
      std::chrono::steady_clock::now() + (is_single_core ? std::chrono::microseconds(0) : limit);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return done();
    std::this_thread::yield();
  }
  return true;
}

}  // namespace halftone
