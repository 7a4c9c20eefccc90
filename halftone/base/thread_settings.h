// SPDX-License-Identifier: Apache-2.0
// What the loops and kernels of a thread may use, and what one thread at a time may use.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

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

}  // namespace halftone
