// SPDX-License-Identifier: Apache-2.0
#include "halftone/train.hpp"

#include <utility>

#include "halftone/api/training_options.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

/// What a training says to its caller, and when it is to stop.
class Course {
 public:
  Course(const TrainOptions& options, CallerException& raised)
      : options_(options), raised_(raised) {}

  /// Lets the caller follow and end the run. The settings refer to this.
  TrainingSettings& follow(TrainingSettings& settings) {
    settings.options.devices = spmd::Devices::for_threads();
    settings.options.progress = [this](double fraction, std::string_view activity) {
      report(fraction, activity);
    };
    settings.options.stop_requested = [this] {
      learns_ = true;
      return stops_;
    };
    settings.options.record = [this](const auto& epochs) { record(epochs); };
    return settings;
  }

 private:
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

}  // namespace

TrainResult train(const Model& model, const Data& samples, const TrainOptions& options,
                  bool keeps_values) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        TrainingSettings settings = training_settings(options);
        Course course(options, raised);
        const Network& network = Internals::network(model);
        return result_of(train_network(network, Internals::dataset(samples), keeps_values,
                                       course.follow(settings)),
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
        DistillSettings how = distill_settings(options);
        if (options.recipe) how.recipe = recipe_of(*options.recipe);
        TrainingSettings settings = training_settings(options.train, options);
        Course course(options.train, raised);
        std::vector<Network> networks;
        for (const Model& teacher : teachers) networks.push_back(Internals::network(teacher));
        std::optional<Network> student;
        if (options.student) student = Internals::network(*options.student);
        const std::string name = student            ? student->name
                                 : networks.empty() ? std::string()
                                                    : networks.front().name;
        return result_of(distill_network(std::move(networks), std::move(student),
                                         Internals::dataset(samples), how, course.follow(settings)),
                         name);
      },
      {&raised, Internals::raised(samples)});
}

}  // namespace halftone::v0
