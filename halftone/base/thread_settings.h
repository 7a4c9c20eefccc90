// SPDX-License-Identifier: Apache-2.0
// What the loops and kernels of a thread may use, what one thread at a time may use, and waiting
// without sleep.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <thread>

#include "halftone/base/error.h"

namespace halftone {

/// Zeros leave the choice to the process.
struct ThreadSettings {
  int threads = 0;  ///< of parallel_for(); 0: those of set_num_threads()
  int simd = 0;     ///< kernels::simd_setting(); 0: that of kernels::use_simd_target()
  std::uint64_t memory_bytes = 0;  ///< largest piece that require_memory() lets pass; 0: no limit

  bool operator==(const ThreadSettings&) const = default;
};

/// Those of the current thread. Threads of parallel_for() and of spmd have those of their caller.
[[nodiscard]] const ThreadSettings& thread_settings() noexcept;

/// Gives the current thread settings during its lifetime. Destroyed on the same thread, in reverse
/// order.
class UseThreadSettings {
 public:
  explicit UseThreadSettings(const ThreadSettings& settings) noexcept;
  ~UseThreadSettings();
  UseThreadSettings(const UseThreadSettings&) = delete;
  UseThreadSettings& operator=(const UseThreadSettings&) = delete;

 private:
  ThreadSettings outer_;
};

/// Marks something as in use during its lifetime.
class ExclusiveUse {
 public:
  /// @param what  in messages: "session"
  /// @throws Error kUsage if it is in use: "session: expected one thread at a time, ..."
  ExclusiveUse(std::atomic<bool>& used, const std::string& what) : used_(used) {
    if (used_.exchange(true)) {
      fail(ErrorKind::kUsage, what +
                                  ": expected one thread at a time, found it running in another; "
                                  "create a " +
                                  what + " for each");
    }
  }
  ~ExclusiveUse() { used_ = false; }
  ExclusiveUse(const ExclusiveUse&) = delete;
  ExclusiveUse& operator=(const ExclusiveUse&) = delete;

 private:
  std::atomic<bool>& used_;
};

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
/// sleep and wake it; not at all on a single core. @return whether it is done
/// @param between  called after each vain try
template <typename Done>
bool spin_until(Done&& done, std::chrono::microseconds limit = std::chrono::microseconds(10),
                void (*between)() = yield_unless_busy) {
  static const bool is_single_core = std::thread::hardware_concurrency() < 2;
  const auto end =
      std::chrono::steady_clock::now() + (is_single_core ? std::chrono::microseconds(0) : limit);
  while (!done()) {
    if (std::chrono::steady_clock::now() >= end) return done();
    between();
  }
  return true;
}

}  // namespace halftone
