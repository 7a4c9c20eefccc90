// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/run_settings.h"

#include <charconv>

#include "halftone/train/run/content_hash.h"

namespace halftone::train {
namespace {

std::string text_of(const std::vector<double>& numbers) {
  std::string text;
  for (const double number : numbers) text += (text.empty() ? "" : ",") + to_text(number);
  return text;
}

std::string text_of(const LevelQuantizerOptions& options) {
  return options.rule == LevelRule::kGradient
             ? "gradient"
             : "average with momentum " + to_text(options.momentum);
}

std::string text_of(const WeightHardware& hardware) {
  return hardware.seen ? hardware.settings : "none";
}

std::string text_of_gradients(const PrecisionOptions& options) {
  return numerics::to_string(options.gradients) + ", rounded " +
         (options.gradient_rounding == GradientRounding::kNearest ? "to nearest" : "by chance");
}

void add(RunSettings& settings, const OptimizerOptions& options) {
  settings.push_back({"optimizer", options.kind == OptimizerKind::kSgd ? "sgd" : "adam"});
  settings.push_back({"rate", to_text(options.rate)});
  settings.push_back({"level rate", to_text(options.level_rate)});
  settings.push_back({"momentum", to_text(options.momentum)});
  settings.push_back({"weight decay", to_text(options.weight_decay)});
  settings.push_back({"most gradient", to_text(options.clip_grad_norm)});
  settings.push_back({"schedule", std::string(to_string(options.schedule.kind))});
  settings.push_back({"milestones", text_of(options.schedule.milestones)});
  settings.push_back({"decay", to_text(options.schedule.decay)});
  settings.push_back({"warm-up", to_text(options.schedule.warm_up)});
}

}  // namespace

std::string to_text(double number) {
  std::string text(32, ' ');
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), number);
  text.resize(static_cast<std::size_t>(end - text.data()));
  return text;
}

RunSettings run_settings(const ir::Graph& student, const ir::Graph* original,
                         const TrainingData& data, const StudentOptions& student_options,
                         const LearnOptions& options) {
  RunSettings settings{{"student", content_hash(student)},
                       {"original", original == nullptr ? "none" : content_hash(*original)},
                       {"number of teachers", std::to_string(data.teachers.size())},
                       {"number of samples", std::to_string(data.samples.size())},
                       {"data", content_hash(data.samples)},
                       {"levels of weights", text_of(student_options.weights)},
                       {"levels of activations", text_of(student_options.activations)},
                       {"batch normalisation", student_options.normalises ? "on" : "off"},
                       {"format of weights", to_string(student_options.precision.weights)},
                       {"format of activations", to_string(student_options.precision.activations)},
                       {"format of gradients", text_of_gradients(student_options.precision)},
                       {"device", std::string(to_string(student_options.device))},
                       {"hardware", text_of(student_options.hardware)},
                       {"freezing", to_text(options.freeze_from)},
                       {"loss scale", to_text(options.loss_scale)},
                       {"epochs", std::to_string(options.epochs)},
                       {"batch", std::to_string(options.batch)},
                       {"parts", std::to_string(options.parts)},
                       {"label weight", to_text(options.loss.label_weight)},
                       {"temperature", to_text(options.loss.temperature)},
                       {"loss", std::string(to_string(options.loss.kind))},
                       {"flip", options.augment.flip ? "on" : "off"},
                       {"crop", std::to_string(options.augment.padding)},
                       {"seed", std::to_string(options.seed)},
                       {"validation split", to_text(options.validation_split)},
                       {"patience", std::to_string(options.patience)}};
  for (std::size_t i = 0; i < data.teachers.size(); ++i) {
    settings.push_back({"teacher " + std::to_string(i + 1), content_hash(data.teachers[i])});
  }
  std::string features;
  for (const FeatureMatch& each : options.features) {
    features += each.teacher + "=" + each.student + ":" + to_text(each.weight) + " ";
  }
  settings.push_back({"features", features});
  add(settings, options.optimizer);
  return settings;
}

}  // namespace halftone::train
