// SPDX-License-Identifier: Apache-2.0
// What callers of a library let it use.
#pragma once

#include <cstdint>
#include <string>

#include "halftone/base/thread_settings.h"

namespace halftone {

struct Resources {
  int threads = 0;                 ///< 1 to 1024; 0: one per core
  std::string simd{};              ///< name of a SIMD target; empty or "auto": the widest
  std::uint64_t memory_bytes = 0;  ///< of the largest piece of memory; 0: no limit
};

/// The SIMD target that the resources name.
/// @return one of kernels::simd_targets(), if settings_for() does not throw
std::string simd_of(const Resources& resources);

/// Settings with these resources, whatever the process has set for its own threads.
/// @throws Error kUsage if the number of threads is out of range, or this processor has no such
///         SIMD target
ThreadSettings settings_for(const Resources& resources);

}  // namespace halftone
