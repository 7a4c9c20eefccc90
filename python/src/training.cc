// SPDX-License-Identifier: Apache-2.0
// Networks that learn, in the module _halftone_train. Networks and samples are those of _halftone;
// recipes come as text, because they point into tables of the module that has read them.
#include "halftone/api/training.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/api/crossbar.h"
#include "halftone/api/recipe.h"
#include "halftone/api/training_names.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/progress.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// Options of a training, and of a student.
struct TrainArguments {
  TrainingNames names{};
  train::TrainOptions options{};
  bool normalises = true;
  int threads = 0;
  nb::object progress = nb::none();
  nb::object on_epoch = nb::none();  ///< called with (loss, agreement, validation, rate, seconds)
  DistillSettings student{};
};

/// The network that has learned, and the report of the program.
struct TrainedHolder {
  Network network;
  TrainReport report;

  [[nodiscard]] Texts texts(std::uint64_t output_bytes) const {
    TrainReport all = report;
    all.output_bytes = output_bytes;
    return {report::to_text(all), report::to_json(all)};
  }
};

/// A run that tells Python of its course. Where Python raises before the first step, the run ends;
/// after it, the run ends after its step, with a checkpoint.
class Course {
 public:
  explicit Course(const TrainArguments& how) : how_(how), reporter_(how.progress) {}
  Course(const Course&) = delete;
  Course& operator=(const Course&) = delete;

  /// @param learn  learn(settings) trains
  template <typename Learn>
  TrainedHolder run(const Network& input, const Learn& learn) {
    return reporter_.run([&] {
      ThreadSettings threads = thread_settings();
      threads.threads = how_.threads;
      const UseThreadSettings use(threads);
      Trained found = learn(settings());
      if (found.report.interrupted) fail(ErrorKind::kInterrupted, "stopped");
      found.report.input_bytes = input.file_bytes;
      return TrainedHolder{Network(std::move(found.graph), input.name), std::move(found.report)};
    });
  }

 private:
  /// They refer to this.
  TrainingSettings settings() {
    TrainingSettings result;
    result.options = how_.options;
    result.student.normalises = how_.normalises;
    result.options.devices = spmd::Devices::for_threads();
    result.options.progress = [this, sink = reporter_.sink()](double fraction,
                                                              std::string_view activity) {
      stoppable([&] { sink(fraction, activity); });
    };
    result.options.stop_requested = [this] {
      learns_ = true;
      return stops_;
    };
    result.options.record = [this](const std::vector<EpochResult>& epochs) {
      if (how_.on_epoch.is_none()) return;
      for (; num_told_ < epochs.size() && !stops_; ++num_told_) {
        stoppable([&] { tell(epochs[num_told_]); });
      }
    };
    set_named(how_.names, result);
    return result;
  }

  void tell(const EpochResult& epoch) {
    reporter_.with_python([&] {
      how_.on_epoch(epoch.loss, epoch.agreement, epoch.validation_accuracy, epoch.rate,
                    epoch.seconds);
    });
  }

  template <typename Body>
  void stoppable(const Body& body) {
    try {
      body();
    } catch (const Error&) {
      if (!learns_) throw;
      stops_ = true;
    }
  }

  const TrainArguments& how_;
  Reporter reporter_;
  bool learns_ = false;  ///< whether the first step was made
  bool stops_ = false;
  std::size_t num_told_ = 0;  ///< epochs that Python knows of
};

TrainedHolder train_python(const Network& network, const Samples& samples, bool keeps_values,
                           const TrainArguments& how) {
  return Course(how).run(network, [&](const TrainingSettings& settings) {
    return train_network(network, samples.dataset, keeps_values, settings);
  });
}

TrainedHolder distill_python(const std::vector<const Network*>& teachers, const Network* student,
                             const Samples& samples, const TrainArguments& how) {
  if (teachers.empty()) fail(ErrorKind::kUsage, "distill: expected a teacher, found none");
  const Network& input = student == nullptr ? *teachers.front() : *student;
  return Course(how).run(input, [&](const TrainingSettings& settings) {
    std::vector<Network> networks;
    for (const Network* teacher : teachers) networks.push_back(*teacher);
    const auto learner = student == nullptr ? std::nullopt : std::optional<Network>(*student);
    return distill_network(std::move(networks), learner, samples.dataset, how.student, settings);
  });
}

/// A property that is a part of the options.
template <typename Field>
void add(nb::class_<TrainArguments>& bound, const char* name, const Field& field) {
  using Value = std::decay_t<decltype(field(std::declval<TrainArguments&>()))>;
  bound.def_prop_rw(
      name, [field](TrainArguments& how) { return field(how); },
      [field](TrainArguments& how, Value value) { field(how) = std::move(value); });
}

void add_optimizer(nb::class_<TrainArguments>& how) {
  using Arguments = TrainArguments;
  add(how, "optimizer", [](Arguments& h) -> std::string& { return h.names.optimizer; });
  add(how, "learning_rate", [](Arguments& h) -> double& { return h.options.optimizer.rate; });
  add(how, "momentum", [](Arguments& h) -> double& { return h.options.optimizer.momentum; });
  add(how, "weight_decay",
      [](Arguments& h) -> double& { return h.options.optimizer.weight_decay; });
  add(how, "clip_grad_norm",
      [](Arguments& h) -> double& { return h.options.optimizer.clip_grad_norm; });
  add(how, "schedule", [](Arguments& h) -> std::string& { return h.names.schedule; });
  add(how, "milestones",
      [](Arguments& h) -> std::vector<double>& { return h.options.optimizer.schedule.milestones; });
  add(how, "schedule_decay",
      [](Arguments& h) -> double& { return h.options.optimizer.schedule.decay; });
  add(how, "warmup_epochs",
      [](Arguments& h) -> double& { return h.options.optimizer.schedule.warm_up; });
  add(how, "level_rate_factor",
      [](Arguments& h) -> double& { return h.options.optimizer.level_rate; });
}

void add_run(nb::class_<TrainArguments>& how) {
  using Arguments = TrainArguments;
  add(how, "epochs", [](Arguments& h) -> std::size_t& { return h.options.epochs; });
  add(how, "batch", [](Arguments& h) -> std::size_t& { return h.options.batch; });
  add(how, "parts", [](Arguments& h) -> std::size_t& { return h.options.parts; });
  add(how, "precision", [](Arguments& h) -> std::string& { return h.names.precision; });
  add(how, "gradient_format", [](Arguments& h) -> std::string& { return h.names.gradient_format; });
  add(how, "gradient_rounding",
      [](Arguments& h) -> std::string& { return h.names.gradient_rounding; });
  add(how, "loss_scale", [](Arguments& h) -> double& { return h.options.loss_scale; });
  add(how, "batch_norm", [](Arguments& h) -> bool& { return h.normalises; });
  add(how, "freeze_from", [](Arguments& h) -> double& { return h.options.freeze_from; });
  add(how, "flip", [](Arguments& h) -> bool& { return h.options.augment.flip; });
  add(how, "crop", [](Arguments& h) -> std::size_t& { return h.options.augment.padding; });
  add(how, "seed", [](Arguments& h) -> std::uint64_t& { return h.options.seed; });
  add(how, "validation_split", [](Arguments& h) -> double& { return h.options.validation_split; });
  add(how, "patience", [](Arguments& h) -> std::size_t& { return h.options.patience; });
  add(how, "checkpoint", [](Arguments& h) -> std::string& { return h.options.checkpoint.path; });
  add(how, "checkpoint_minutes",
      [](Arguments& h) -> double& { return h.options.checkpoint.minutes; });
  add(how, "resume", [](Arguments& h) -> bool& { return h.options.checkpoint.resume; });
  add(how, "device", [](Arguments& h) -> std::string& { return h.names.device; });
  add(how, "threads", [](Arguments& h) -> int& { return h.threads; });
}

void add_student(nb::class_<TrainArguments>& how) {
  using Arguments = TrainArguments;
  add(how, "loss", [](Arguments& h) -> std::string& { return h.names.loss; });
  add(how, "levels", [](Arguments& h) -> std::string& { return h.names.levels; });
  add(how, "label_weight", [](Arguments& h) -> double& { return h.options.loss.label_weight; });
  add(how, "temperature", [](Arguments& h) -> double& { return h.options.loss.temperature; });
  add(how, "fresh", [](Arguments& h) -> bool& { return h.student.fresh; });
  add(how, "calibration",
      [](Arguments& h) -> std::size_t& { return h.student.calibration_samples; });
  how.def("set_recipe", [](Arguments& h, const std::string& toml) {
    h.student.recipe = recipe_from(toml, "recipe");
  });
  how.def("set_stages", [](Arguments& h, const std::vector<std::string>& stages) {
    h.student.stages = train::parse_stages(stages);
  });
  how.def("set_features", [](Arguments& h, const std::vector<std::string>& features) {
    for (const std::string& each : features) {
      h.options.features.push_back(train::parse_feature_match(each));
    }
  });
  how.def("set_teacher_cache",
          [](Arguments& h, const std::string& path) { h.options.teacher_cache = path; });
  how.def("set_memory", [](Arguments& h, std::uint64_t bytes) { h.student.memory_bytes = bytes; });
  how.def(
      "set_crossbar",
      [](Arguments& h, const std::string& device, std::optional<double> seconds) {
        h.student.crossbar = device_of(device);
        if (seconds) h.student.crossbar->seconds = *seconds;
      },
      nb::arg("device"), nb::arg("seconds").none());
}

}  // namespace

void bind_training(nb::module_& module) {
  nb::class_<TrainArguments> how(module, "TrainArguments");
  how.def(nb::init<>());
  add_optimizer(how);
  add_run(how);
  add_student(how);
  how.def_rw("progress", &TrainArguments::progress, nb::arg().none());
  how.def_rw("on_epoch", &TrainArguments::on_epoch, nb::arg().none());
  nb::class_<TrainedHolder>(module, "Trained")
      .def_ro("network", &TrainedHolder::network)
      .def("report", &TrainedHolder::texts, nb::arg("output_bytes"));
  module.def("train", train_python, nb::arg("network"), nb::arg("samples"), nb::arg("keeps_values"),
             nb::arg("how"));
  module.def("distill", distill_python, nb::arg("teachers"), nb::arg("student").none(),
             nb::arg("samples"), nb::arg("how"));
}

}  // namespace halftone::python
