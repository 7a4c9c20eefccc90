// SPDX-License-Identifier: Apache-2.0
// Latency of a plan.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::runtime {

struct ProfileOptions {
  double min_seconds = 0.5;   ///< minimum total time to measure ...
  std::size_t min_runs = 30;  ///< ... and minimum number of runs
  ProgressSink progress{};    ///< may be empty
};

/// Latencies in microseconds.
struct Profile {
  std::size_t devices = 1;  ///< devices that share a batch
  std::size_t batch = 0;    ///< samples per run, over all devices
  std::size_t runs = 0;
  double median_us = 0;  ///< of whole runs without step timing, on the slowest device
  double p10_us = 0;     ///< 10 % of the runs took at most this long
  double p99_us = 0;
  /// How often other work took a processor from this process, per second of the measurement. On an
  /// idle machine it is some tens; with hundreds, threads wait for each other and times are wrong.
  double preemptions = 0;
  std::vector<double> step_median_us;  ///< one per step of the plan, from separate runs; less exact
                                       ///< below a microsecond because reading the clock takes time
};

using PlanPointer = std::shared_ptr<const Plan>;

/// Runs a plan repeatedly on the same pseudo-random inputs in [0, 1) (zeros if not float32).
/// @throws Error kUsage if min_seconds is negative or not finite
Profile profile(const PlanPointer& plan, const ProfileOptions& options = {});

/// Plans for a batch that is divided as evenly as possible, larger shares first; equal shares use
/// one plan.
/// @param options     batch: the whole batch; otherwise as for each plan
/// @param max_shares  fewer if there are fewer samples
/// @throws Error kUsage if the batch is 0, or if more than one device should share the fixed batch
///         of a network; otherwise as make_plan()
std::vector<PlanPointer> plan_shares(const ir::Graph& graph, const PlanSettings& options,
                                     std::size_t max_shares);

/// Runs plans concurrently, each on its own device, and measures as profile() of one plan does.
/// Devices start each run together, and a run takes as long as the slowest device. The time to
/// transfer inputs is not included.
/// @param shares   at least one
/// @param devices  at least one per share; all ranks call this
/// @return the steps are those of the first share of this process; a rank without a share reports
///         no runs
/// @throws Error as profile()
Profile profile(const std::vector<PlanPointer>& shares, const spmd::Devices& devices,
                const ProfileOptions& options = {});

}  // namespace halftone::runtime
