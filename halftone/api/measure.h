// SPDX-License-Identifier: Apache-2.0
// Measures how fast a network runs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/network.h"
#include "halftone/runtime/execute/profile.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/types/defaults.hpp"

namespace halftone {

struct TimingSettings {
  std::optional<std::size_t> batch{};  ///< samples per run; nullopt: 1, or that of the network
  double min_seconds = v0::kMeasureSeconds;  ///< measure at least this long
  spmd::Devices devices{};                   ///< that share the samples; empty: one
  runtime::ExecutionOptions execution{};
  ProgressSink progress{};  ///< may be empty
};

/// What described hardware takes, in microseconds.
struct PredictedTimes {
  std::string accelerator;
  double run_us = 0;
  std::vector<double> step_us{};  ///< by step of the plan
};

struct MeasuredPlan {
  std::shared_ptr<const runtime::Plan> plan;  ///< chosen kernels; shared with the profile's runs
  runtime::Profile profile;
  std::optional<PredictedTimes> predicted{};  ///< predict() sets it
};

/// Latency of a run and of every layer. Devices share the threads of parallel_for().
/// @throws Error kUsage if the network is fixed to another batch; else as runtime::plan_shares()
///         and runtime::profile()
MeasuredPlan measure(Network network, const TimingSettings& options = {});

}  // namespace halftone
