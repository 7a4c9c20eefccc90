// SPDX-License-Identifier: Apache-2.0
// How long a plan takes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/runtime/plan.h"

namespace halftone::runtime {

struct ProfileOptions {
  double min_seconds = 0.5;   ///< measure at least so long ...
  std::size_t min_runs = 30;  ///< ... and so often
};

/// Latencies in microseconds.
struct Profile {
  std::size_t runs = 0;
  double median_us = 0;  ///< of whole runs, nothing else going on
  double p10_us = 0;     ///< a tenth of the runs were at most so long
  double p99_us = 0;
  std::vector<double> step_median_us;  ///< one per step of the plan, from runs of their own; less
                                       ///< exact below a microsecond, since the clock takes time
};

/// Runs a plan again and again on pseudo-random inputs in [0, 1) (zeros where they are not
/// float32), the same every time.
/// @throws Error kUsage if min_seconds is negative or not finite
Profile profile(const std::shared_ptr<const Plan>& plan, const ProfileOptions& options = {});

}  // namespace halftone::runtime
