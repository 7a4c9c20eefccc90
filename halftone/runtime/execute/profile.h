// SPDX-License-Identifier: Apache-2.0
// How long a plan takes.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/runtime/plan/plan.h"
#include "halftone/spmd/devices.h"

namespace halftone::runtime {

struct ProfileOptions {
  double min_seconds = 0.5;   ///< measure at least so long ...
  std::size_t min_runs = 30;  ///< ... and so often
};

/// Latencies in microseconds.
struct Profile {
  std::size_t devices = 1;  ///< that share a batch
  std::size_t batch = 0;    ///< samples of a run, on all of them
  std::size_t runs = 0;
  double median_us = 0;  ///< of whole runs, nothing else going on: of the device that took longest
  double p10_us = 0;     ///< a tenth of the runs were at most so long
  double p99_us = 0;
  std::vector<double> step_median_us;  ///< one per step of the plan, from runs of their own; less
                                       ///< exact below a microsecond, since the clock takes time
};

using PlanPointer = std::shared_ptr<const Plan>;

/// Runs a plan again and again on pseudo-random inputs in [0, 1) (zeros where they are not
/// float32), the same every time.
/// @throws Error kUsage if min_seconds is negative or not finite
Profile profile(const PlanPointer& plan, const ProfileOptions& options = {});

/// Plans for a batch in shares as equal as can be, the larger ones first; equal ones are the same.
/// @param options  of the whole batch, and of each plan else
/// @param most     shares; fewer if there are fewer samples
/// @throws Error kUsage if the batch is 0, or the network is fixed to one of several samples that
///         more than one device should share; else as make_plan()
std::vector<PlanPointer> plan_shares(const ir::Graph& graph, const PlanOptions& options,
                                     std::size_t most);

/// Runs plans at once, each on a device of its own, as profile() runs one. Devices begin together;
/// a run takes as long as the slowest. What it would take to bring inputs there is not counted.
/// @param shares   at least one
/// @param devices  at least as many; all ranks call this
/// @return the steps are those of the first share of this process; on a rank without one there are
///         no runs
/// @throws Error as profile()
Profile profile(const std::vector<PlanPointer>& shares, const spmd::Devices& devices,
                const ProfileOptions& options = {});

}  // namespace halftone::runtime
