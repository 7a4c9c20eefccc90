// SPDX-License-Identifier: Apache-2.0
// What long work uses.
#pragma once

#include <cstdint>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// What a call may use of the machine. It changes how long the call takes, never its result.
  struct Resources {
    int threads = 0;                 ///< at most 1024; 0: one per core
    std::string simd{};              ///< "AVX2", ...; empty: the widest of this processor
    std::uint64_t memory_bytes = 0;  ///< of the largest piece of memory; 0: no limit
  };

}  // namespace v0
}  // namespace halftone
