// SPDX-License-Identifier: Apache-2.0
// What long work uses, and whom it tells.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// What a call may use of the machine. It changes how long the call takes, never its result.
  struct Resources {
    int threads = 0;                 ///< at most 1024; 0: one per core
    std::string simd{};              ///< "AVX2", ...; empty: the widest of this processor
    std::uint64_t memory_bytes = 0;  ///< of the largest piece of memory; 0: no limit
  };

  /// Called between two pieces of work, on the thread that has called Halftone.
  /// @param fraction  completed part of the work, in [0, 1]
  /// @param activity  the current step: "fitting dense1"
  /// @return          false to end the work: the call throws Error kInterrupted. What the function
  ///                  throws itself ends the work too, and leaves the call unchanged.
  using Progress = std::function<bool(double fraction, std::string_view activity)>;

}  // namespace v0
}  // namespace halftone
