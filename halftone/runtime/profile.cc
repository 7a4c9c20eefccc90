// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/profile.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/base/random.h"
#include "halftone/runtime/session.h"

namespace halftone::runtime {
namespace {

using Clock = std::chrono::steady_clock;

double microseconds(Clock::duration duration) {
  return std::chrono::duration<double, std::micro>(duration).count();
}

/// The value below which a share of the samples lies; the nearest sample, rounded down.
double quantile(std::vector<double> samples, double share) {
  const auto rank = static_cast<std::ptrdiff_t>(share * static_cast<double>(samples.size() - 1));
  std::nth_element(samples.begin(), samples.begin() + rank, samples.end());
  return samples[static_cast<std::size_t>(rank)];
}

void fill_inputs(Session& session) {
  Random random(0);
  const ir::Graph& graph = session.plan().graph();
  for (std::size_t i = 0; i < graph.inputs().size(); ++i) {
    if (!graph.value(graph.inputs()[i]).type.is_dense(ir::ElementType::kFloat32)) continue;
    for (float& value : session.input_as<float>(i)) value = static_cast<float>(random.uniform());
  }
}

/// Runs until both bounds are met, once more before without counting it.
std::vector<double> measure(Session& session, const ProfileOptions& options) {
  session.run();
  std::vector<double> samples;
  const auto begin = Clock::now();
  auto now = begin;
  while (samples.size() < std::max<std::size_t>(options.min_runs, 1) ||
         std::chrono::duration<double>(now - begin).count() < options.min_seconds) {
    const auto start = Clock::now();
    session.run();
    now = Clock::now();
    samples.push_back(microseconds(now - start));
  }
  return samples;
}

}  // namespace

Profile profile(const std::shared_ptr<const Plan>& plan, const ProfileOptions& options) {
  if (!std::isfinite(options.min_seconds) || options.min_seconds < 0) {
    fail(ErrorKind::kUsage, "seconds to measure: expected a number from 0 up, found " +
                                std::to_string(options.min_seconds));
  }
  Session session(plan);
  fill_inputs(session);
  const std::vector<double> totals = measure(session, options);
  Profile result;
  result.runs = totals.size();
  result.median_us = quantile(totals, 0.5);
  result.p10_us = quantile(totals, 0.1);
  result.p99_us = quantile(totals, 0.99);
  std::vector<std::vector<double>> steps(plan->steps().size());
  session.add_observer([&steps](const StepEvent& event) {
    steps[event.step].push_back(microseconds(event.stop - event.start));
  });
  measure(session, options);
  for (std::vector<double>& samples : steps) {
    result.step_median_us.push_back(quantile(std::move(samples), 0.5));
  }
  return result;
}

}  // namespace halftone::runtime
