// SPDX-License-Identifier: Apache-2.0
// Time that a job takes, for its report.
#pragma once

#include <chrono>

namespace halftone {

/// Measures from its construction.
class Elapsed {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(Clock::now() - start_).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point start_ = Clock::now();
};

}  // namespace halftone
