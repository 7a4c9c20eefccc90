// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/training_names.h"

#include <initializer_list>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"

namespace halftone {
namespace {

template <typename Choice>
Choice choice_named(const std::string& what, const std::string& name,
                    std::initializer_list<std::pair<std::string_view, Choice>> choices) {
  std::string list;
  for (const auto& [known, choice] : choices) {
    if (known == name) return choice;
    list.append(list.empty() ? "" : ", ").append(known);
  }
  fail(ErrorKind::kUsage, what + ": expected one of " + list + ", found '" + name + "'");
}

}  // namespace

void set_named(const TrainingNames& names, TrainingSettings& settings) {
  using train::ComputeDevice, train::LevelRule, train::LossKind, train::OptimizerKind,
      train::GradientRounding, train::ScheduleKind;
  train::OptimizerOptions& optimizer = settings.options.optimizer;
  optimizer.kind = choice_named<OptimizerKind>(
      "optimizer", names.optimizer, {{"adam", OptimizerKind::kAdam}, {"sgd", OptimizerKind::kSgd}});
  optimizer.schedule.kind = choice_named<ScheduleKind>("schedule", names.schedule,
                                                       {{"cosine", ScheduleKind::kCosine},
                                                        {"step", ScheduleKind::kStep},
                                                        {"constant", ScheduleKind::kConstant}});
  settings.options.loss.kind = choice_named<LossKind>("loss", names.loss,
                                                      {{"auto", LossKind::kAuto},
                                                       {"kl", LossKind::kProbabilities},
                                                       {"mse", LossKind::kSquaredError}});
  train::StudentOptions& student = settings.student;
  student.weights.rule = student.activations.rule = choice_named<LevelRule>(
      "levels", names.levels,
      {{"gradient", LevelRule::kGradient}, {"average", LevelRule::kMovingAverage}});
  train::PrecisionOptions& precision = student.precision;
  precision.weights = precision.activations = numerics::parse_number_format(names.precision);
  precision.gradients = numerics::parse_number_format(names.gradient_format);
  precision.gradient_rounding = choice_named<GradientRounding>(
      "gradient rounding", names.gradient_rounding,
      {{"stochastic", GradientRounding::kStochastic}, {"nearest", GradientRounding::kNearest}});
  student.device = choice_named<ComputeDevice>(
      "device", names.device, {{"cpu", ComputeDevice::kCpu}, {"cuda", ComputeDevice::kCuda}});
}

}  // namespace halftone
