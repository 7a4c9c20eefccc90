// SPDX-License-Identifier: Apache-2.0
// What the loops and kernels of a thread may use. Programs set it for the whole process, a context
// of the library for the calls that it is given to.
#pragma once

#include <cstdint>

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

}  // namespace halftone
