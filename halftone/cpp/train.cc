// SPDX-License-Identifier: Apache-2.0
#include "halftone/train.hpp"

#include <utility>

#include "halftone/api/crossbar.h"
#include "halftone/api/training_names.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

/// What a training says to its caller, and when it is to stop.
class Course {
 public:
  Course(const TrainOptions& options, CallerException& raised)
      : options_(options), raised_(raised) {}

  /// The settings of the run. They refer to this.
  TrainingSettings settings(TrainingNames names) {
    TrainingSettings result;
    set_numbers(result.options);
    result.student.normalises = options_.normalises;
    result.options.devices = spmd::Devices::for_threads();
    result.options.progress = [this](double fraction, std::string_view activity) {
      report(fraction, activity);
    };
    result.options.stop_requested = [this] {
      learns_ = true;
      return stops_;
    };
    result.options.record = [this](const auto& epochs) { record(epochs); };
    names.optimizer = options_.optimizer;
    names.schedule = options_.schedule.kind;
    names.precision = options_.precision;
    names.gradient_format = options_.gradient_format;
    names.gradient_rounding = options_.gradient_rounding;
    names.device = options_.cuda ? "cuda" : "cpu";
    set_named(names, result);
    return result;
  }

 private:
  void set_numbers(train::TrainOptions& result) const {
    result.epochs = options_.epochs;
    result.batch = options_.batch;
    result.parts = options_.parts;
    result.optimizer.rate = options_.rate;
    result.optimizer.momentum = options_.momentum;
    result.optimizer.weight_decay = options_.weight_decay;
    result.optimizer.clip_grad_norm = options_.clip_grad_norm;
    result.optimizer.schedule.milestones = options_.schedule.milestones;
    result.optimizer.schedule.decay = options_.schedule.decay;
    result.optimizer.schedule.warm_up = options_.schedule.warm_up;
    result.loss_scale = options_.loss_scale;
    result.freeze_from = options_.freeze_from;
    result.augment = {options_.flip, options_.padding};
    result.seed = options_.seed;
    result.validation_split = options_.validation_split;
    result.patience = options_.patience;
    result.checkpoint = {options_.checkpoint.string(), options_.checkpoint_minutes,
                         options_.resume};
  }

  void report(double fraction, std::string_view activity) {
    if (!options_.progress) return;
    if (raised_.run([&] { return options_.progress(fraction, activity); })) return;
    stops_ = true;
    if (learns_) return;  // the run ends after its step, with a checkpoint
    fail_interrupted(activity);
  }

  void record(const std::vector<EpochResult>& epochs) const {
    if (options_.on_epoch) raised_.run([&] { options_.on_epoch(epochs); });
  }

  const TrainOptions& options_;
  CallerException& raised_;
  bool learns_ = false;  ///< whether the first step was made
  bool stops_ = false;
};

TrainResult result_of(Trained trained, const std::string& name) {
  TrainResult result;
  result.epochs = std::move(trained.report.epochs);
  result.best = trained.report.best;
  result.interrupted = trained.report.interrupted;
  result.seconds = trained.report.seconds;
  if (!result.interrupted) result.model = Internals::model(Network(std::move(trained.graph), name));
  return result;
}

DistillSettings distill_settings(const DistillOptions& options) {
  DistillSettings how;
  how.fresh = options.fresh;
  if (options.recipe) how.recipe = recipe_of(*options.recipe);
  how.calibration_samples = options.calibration_samples;
  how.memory_bytes = options.sample_memory_bytes;
  if (!options.crossbar.empty()) {
    how.crossbar = device_of(options.crossbar);
    if (options.crossbar_seconds) how.crossbar->seconds = *options.crossbar_seconds;
  }
  std::vector<std::string> stages;
  for (const Stage& stage : options.stages) {
    stages.push_back(std::to_string(stage.bits) + ":" + std::to_string(stage.epochs));
  }
  how.stages = train::parse_stages(stages);
  return how;
}

}  // namespace

TrainResult train(const Model& model, const Data& samples, const TrainOptions& options,
                  bool keeps_values) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        Course course(options, raised);
        const Network& network = Internals::network(model);
        return result_of(train_network(network, Internals::dataset(samples), keeps_values,
                                       course.settings({.levels = "average"})),
                         network.name);
      },
      {&raised, Internals::raised(samples)});
}

TrainResult distill(const std::vector<Model>& teachers, const Data& samples,
                    const DistillOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.train.resources));
        const DistillSettings how = distill_settings(options);
        Course course(options.train, raised);
        TrainingSettings settings =
            course.settings({.loss = options.loss, .levels = options.levels});
        train::TrainOptions& learning = settings.options;
        learning.loss.label_weight = options.label_weight;
        learning.loss.temperature = options.temperature;
        learning.optimizer.level_rate = options.level_rate;
        learning.teacher_cache = options.teacher_cache;
        learning.features = options.features;
        std::vector<Network> networks;
        for (const Model& teacher : teachers) networks.push_back(Internals::network(teacher));
        std::optional<Network> student;
        if (options.student) student = Internals::network(*options.student);
        const std::string name = student            ? student->name
                                 : networks.empty() ? std::string()
                                                    : networks.front().name;
        return result_of(distill_network(std::move(networks), std::move(student),
                                         Internals::dataset(samples), how, settings),
                         name);
      },
      {&raised, Internals::raised(samples)});
}

}  // namespace halftone::v0
