// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/profile.h"

#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <string>
#include <thread>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/ir/symbolic_batch.h"
#include "halftone/runtime/execute/session.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// The quantile of the samples, rounded down to the nearest sample.
double quantile(std::vector<double> samples, double share) {
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + rank, samples.end());
  return samples[static_cast<std::size_t>(rank)];
}

void fill_inputs(Session& session) {
  Random random(0);
  const Plan& plan = session.plan();
  for (std::size_t i = 0; i < plan.inputs().size(); ++i) {
    if (!plan.graph().value(plan.inputs()[i]).type.is_dense(ir::ElementType::kFloat32)) continue;
    for (float& value : session.input_as<float>(i)) value = static_cast<float>(random.uniform());
  }
}

/// Involuntary context switches of all threads of this process so far.
double num_preemptions() {
  rusage usage{};
  return getrusage(RUSAGE_SELF, &usage) == 0 ? static_cast<double>(usage.ru_nivcsw) : 0;
}

constexpr const char* kShareAxis = "share";

/// Runs until both bounds are met, after one unmeasured run. The lanes synchronize after each run,
/// so that they start the next one together and all know the longest time.
/// @param report  called after each run with the share of the time that has passed; may be empty
std::vector<double> measure(Session& session, const ProfileOptions& options,
                            const std::function<void(double)>& report) {
  session.run();
  std::vector<double> samples;
  double total_us = 0;
  spmd::psum(spmd::Array(), kShareAxis);
  while (samples.size() < std::max<std::size_t>(options.min_runs, 1) ||
         total_us < 1e6 * options.min_seconds) {
    const auto start = Clock::now();
    session.run();
    const double mine = microseconds(Clock::now() - start);
    samples.push_back(spmd::pmax(spmd::Array::scalar(mine), kShareAxis).item<double>());
    total_us += samples.back();
    if (report) report(std::min(1.0, total_us / std::max(1.0, 1e6 * options.min_seconds)));
  }
  return samples;
}

/// The measurements of one lane.
struct Measured {
  std::vector<double> totals;
  std::vector<double> step_medians;
};

/// @param progress  of the lane that reports; else empty
Measured measure_share(const PlanPointer& plan, const ProfileOptions& options,
                       const ProgressSink& progress) {
  // Whole runs first, then runs with the times of their steps.
  const auto round = [&progress](double first) -> std::function<void(double)> {
    if (!progress) return {};
    return [&progress, first](double share) { progress(first + share / 2, "measuring"); };
  };
  Session session(plan);
  fill_inputs(session);
  Measured result{measure(session, options, round(0)), {}};
  std::vector<std::vector<double>> steps(plan->steps().size());
  session.add_observer([&steps](const StepEvent& event) {
    steps[event.step].push_back(microseconds(event.stop - event.start));
  });
  measure(session, options, round(0.5));
  for (std::vector<double>& samples : steps) {
    result.step_medians.push_back(quantile(std::move(samples), 0.5));
  }
  return result;
}

}  // namespace

Profile profile(const PlanPointer& plan, const ProfileOptions& options) {
  return profile({plan}, spmd::Devices::emulate(1), options);
}

std::vector<PlanPointer> plan_shares(const ir::Graph& graph, const PlanSettings& options,
                                     std::size_t max_shares) {
  if (options.batch == 0 || max_shares == 0) {
    fail(ErrorKind::kUsage, "batch and devices: expected at least 1 of each, found " +
                                std::to_string(options.batch) + " and " +
                                std::to_string(max_shares));
  }
  const std::size_t count = std::min(options.batch, max_shares);
  if (count > 1 && ir::fixed_batch(graph)) {
    fail(ErrorKind::kUsage, "the network is fixed to " + std::to_string(options.batch) +
                                " samples, which " + std::to_string(count) +
                                " devices cannot share: use one");
  }
  std::vector<PlanPointer> plans;
  for (std::size_t i = 0; i < count; ++i) {
    PlanSettings share = options;
    share.batch = options.batch / count + (i < options.batch % count ? 1 : 0);
    const bool is_new = i == 0 || plans.back()->options().batch != share.batch;
    plans.push_back(is_new ? make_plan(graph, share) : plans.back());
  }
  return plans;
}

Profile profile(const std::vector<PlanPointer>& shares, const spmd::Devices& devices,
                const ProfileOptions& options) {
  if (!std::isfinite(options.min_seconds) || options.min_seconds < 0) {
    fail(ErrorKind::kUsage, "seconds to measure: expected a finite value of at least 0, found " +
                                std::to_string(options.min_seconds));
  }
  std::vector<Measured> measured(shares.size());
  const std::thread::id starter = std::this_thread::get_id();
  const auto lane = [&] {
    const std::size_t i = spmd::axis_index(kShareAxis);
    const bool reports = std::this_thread::get_id() == starter;
    measured[i] = measure_share(shares[i], options, reports ? options.progress : ProgressSink());
  };
  const auto start = Clock::now();
  const double before = num_preemptions();
  spmd::pmap(lane, {.axis_name = kShareAxis, .axis_size = shares.size(), .devices = devices})();
  Profile result;
  result.preemptions = 1e6 * (num_preemptions() - before) / microseconds(Clock::now() - start);
  result.devices = shares.size();
  for (const PlanPointer& share : shares) result.batch += share->options().batch;
  const auto mine =
      std::ranges::find_if(measured, [](const Measured& m) { return !m.totals.empty(); });
  if (mine == measured.end()) return result;
  result.runs = mine->totals.size();
  result.median_us = quantile(mine->totals, 0.5);
  result.p10_us = quantile(mine->totals, 0.1);
  result.p99_us = quantile(mine->totals, 0.99);
  result.step_median_us = mine->step_medians;
  return result;
}

}  // namespace halftone::runtime
