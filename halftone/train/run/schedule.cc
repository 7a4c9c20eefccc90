// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

void check(const ScheduleOptions& options, std::size_t epochs) {
  const auto usage = [](const std::string& expected, double found) {
    fail(ErrorKind::kUsage, expected + ", found " + std::to_string(found));
  };
  double last = 0;
  for (const double milestone : options.milestones) {
    if (!(milestone > last && milestone < 1)) {
      usage("milestones: expected ascending values between 0 and 1", milestone);
    }
    last = milestone;
  }
  if (!(options.decay > 0 && options.decay <= 1)) {
    usage("decay: expected a number above 0, at most 1", options.decay);
  }
  if (!(options.warm_up >= 0 && options.warm_up < static_cast<double>(epochs))) {
    usage("warm-up: expected fewer epochs than the " + std::to_string(epochs) + " of the training",
          options.warm_up);
  }
}

}  // namespace

std::string_view to_string(ScheduleKind kind) {
  switch (kind) {
    case ScheduleKind::kCosine:
      return "cosine";
    case ScheduleKind::kStep:
      return "step";
    case ScheduleKind::kConstant:
      break;
  }
  return "constant";
}

Schedule::Schedule(const ScheduleOptions& options, std::size_t epochs, std::size_t steps_per_epoch)
    : options_(options), num_steps_(epochs * steps_per_epoch) {
  check(options, epochs);
  num_warm_up_steps_ =
      static_cast<std::size_t>(std::lround(options.warm_up * static_cast<double>(steps_per_epoch)));
}

double Schedule::factor(std::size_t step) const {
  if (step < num_warm_up_steps_) {
    return static_cast<double>(step + 1) / static_cast<double>(num_warm_up_steps_);
  }
  const double t = static_cast<double>(step - num_warm_up_steps_) /
                   static_cast<double>(num_steps_ - num_warm_up_steps_);
  switch (options_.kind) {
    case ScheduleKind::kCosine:
      return (1 + std::cos(std::numbers::pi * t)) / 2;
    case ScheduleKind::kStep:
      return std::pow(options_.decay,
                      std::ranges::count_if(options_.milestones, [&](double m) { return m <= t; }));
    case ScheduleKind::kConstant:
      break;
  }
  return 1;
}

}  // namespace halftone::train
