// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/training_options.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/api/crossbar.h"
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

train::OptimizerOptions optimizer_options(const v0::TrainOptions& options) {
  using train::OptimizerKind, train::ScheduleKind;
  train::OptimizerOptions result;
  result.kind =
      choice_named<OptimizerKind>("optimizer", options.optimizer,
                                  {{"adam", OptimizerKind::kAdam}, {"sgd", OptimizerKind::kSgd}});
  result.rate = options.learning_rate;
  result.momentum = options.momentum;
  result.weight_decay = options.weight_decay;
  result.clip_grad_norm = options.clip_grad_norm;
  result.schedule.kind = choice_named<ScheduleKind>("schedule", options.schedule,
                                                    {{"cosine", ScheduleKind::kCosine},
                                                     {"step", ScheduleKind::kStep},
                                                     {"constant", ScheduleKind::kConstant}});
  result.schedule.milestones = options.milestones;
  result.schedule.decay = options.schedule_decay;
  result.schedule.warm_up = options.warmup_epochs;
  return result;
}

train::LearnOptions run_options(const v0::TrainOptions& options) {
  train::LearnOptions result;
  result.epochs = options.epochs;
  result.batch = options.batch;
  result.parts = options.parts;
  result.optimizer = optimizer_options(options);
  result.loss_scale = options.loss_scale;
  result.freeze_from = options.freeze_from;
  result.augment = {options.flip, options.crop};
  result.seed = options.seed;
  result.validation_split = options.validation_split;
  result.patience = options.patience;
  result.checkpoint = {options.checkpoint.string(), options.checkpoint_minutes, options.resume};
  return result;
}

/// @throws Error as train::parse_stages()
std::vector<train::Stage> checked(const std::vector<train::Stage>& stages) {
  std::vector<std::string> texts;
  for (const train::Stage& stage : stages) {
    texts.push_back(std::to_string(stage.bits) + ":" + std::to_string(stage.epochs));
  }
  return train::parse_stages(texts);
}

void set_levels(const std::string& name, train::StudentOptions& student) {
  using train::LevelRule;
  student.weights.rule = student.activations.rule = choice_named<LevelRule>(
      "levels", name, {{"gradient", LevelRule::kGradient}, {"average", LevelRule::kMovingAverage}});
}

}  // namespace

TrainingSettings training_settings(const v0::TrainOptions& options) {
  using train::ComputeDevice, train::GradientRounding;
  TrainingSettings settings;
  settings.options = run_options(options);
  train::StudentOptions& student = settings.student;
  student.normalises = options.batch_norm;
  train::PrecisionOptions& precision = student.precision;
  precision.weights = precision.activations = numerics::parse_number_format(options.precision);
  precision.gradients = numerics::parse_number_format(options.gradient_format);
  precision.gradient_rounding = choice_named<GradientRounding>(
      "gradient rounding", options.gradient_rounding,
      {{"stochastic", GradientRounding::kStochastic}, {"nearest", GradientRounding::kNearest}});
  student.device = choice_named<ComputeDevice>(
      "device", options.device, {{"cpu", ComputeDevice::kCpu}, {"cuda", ComputeDevice::kCuda}});
  return settings;
}

TrainingSettings training_settings(const v0::TrainOptions& options,
                                   const v0::TeachingOptions& teaching) {
  using train::LossKind;
  TrainingSettings settings = training_settings(options);
  settings.options.loss = {teaching.label_weight, teaching.temperature,
                           choice_named<LossKind>("loss", teaching.loss,
                                                  {{"auto", LossKind::kAuto},
                                                   {"kl", LossKind::kProbabilities},
                                                   {"mse", LossKind::kSquaredError}})};
  settings.options.optimizer.level_rate = teaching.level_rate_factor;
  settings.options.features = teaching.features;
  settings.options.teacher_cache = teaching.teacher_cache;
  set_levels(teaching.levels, settings.student);
  return settings;
}

DistillSettings distill_settings(const v0::TeachingOptions& teaching) {
  DistillSettings settings;
  settings.fresh = teaching.fresh;
  settings.calibration_samples = teaching.calibration;
  settings.memory_bytes = teaching.sample_memory_bytes;
  settings.stages = checked(teaching.stages);
  if (!teaching.crossbar.empty()) {
    settings.crossbar = device_of(teaching.crossbar, teaching.crossbar_seconds);
  }
  return settings;
}

}  // namespace halftone
