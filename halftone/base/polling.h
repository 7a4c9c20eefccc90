// SPDX-License-Identifier: Apache-2.0
// Waiting without sleep, for less time than the system takes to wake a thread.
#pragma once

#include <chrono>

#include "halftone/base/parallel.h"

namespace halftone {

/// Tells the processor that this thread polls.
inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

/// Lets another thread run. Beside other programs, Linux (6.6 and later) takes a whole time slice
/// from a thread for that: where it took 1 ms or more, this is relax() for the next 50 ms.
void yield_unless_busy() noexcept;

/// Polls done() for some microseconds, by default less than the system needs to put a thread to
/// sleep and wake it; not at all where one core is usable. @return whether it is done
/// @param between  called after each vain try
template <typename Done>
bool spin_until(Done&& done, std::chrono::microseconds limit = std::chrono::microseconds(10),
                void (*between)() = yield_unless_busy) {
  const auto end =
      std::chrono::steady_clock::now() + (num_cores() < 2 ? std::chrono::microseconds(0) : limit);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return done();
    between();
  }
  return true;
}

}  // namespace halftone
