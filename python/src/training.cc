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

#include "halftone/api/option_fields.h"
#include "halftone/api/recipe.h"
#include "halftone/api/training_options.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/progress.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// Options of a training, and of a student.
struct TrainArguments {
  v0::TrainOptions options{};
  v0::TeachingOptions teaching{};
  std::optional<compress::Recipe> recipe{};
  int threads = 0;
  nb::object progress = nb::none();
  nb::object on_epoch = nb::none();  ///< called with (loss, agreement, validation, rate, seconds)
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
  TrainedHolder run(const Network& input, TrainingSettings settings, const Learn& learn) {
    return reporter_.run([&] {
      ThreadSettings threads = thread_settings();
      threads.threads = how_.threads;
      const UseThreadSettings use(threads);
      follow(settings.options);
      Trained found = learn(settings);
      if (found.report.interrupted) fail(ErrorKind::kInterrupted, "stopped");
      found.report.input_bytes = input.file_bytes;
      return TrainedHolder{Network(std::move(found.graph), input.name), std::move(found.report)};
    });
  }

 private:
  /// The options refer to this.
  void follow(train::LearnOptions& options) {
    options.devices = spmd::Devices::for_threads();
    options.progress = [this, sink = reporter_.sink()](double fraction, std::string_view activity) {
      stoppable([&] { sink(fraction, activity); });
    };
    options.stop_requested = [this] {
      learns_ = true;
      return stops_;
    };
    options.record = [this](const std::vector<EpochResult>& epochs) {
      if (how_.on_epoch.is_none()) return;
      for (; num_told_ < epochs.size() && !stops_; ++num_told_) {
        stoppable([&] { tell(epochs[num_told_]); });
      }
    };
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
  return Course(how).run(network, training_settings(how.options),
                         [&](const TrainingSettings& settings) {
                           return train_network(network, samples.dataset, keeps_values, settings);
                         });
}

TrainedHolder distill_python(const std::vector<const Network*>& teachers, const Network* student,
                             const Samples& samples, const TrainArguments& how) {
  if (teachers.empty()) fail(ErrorKind::kUsage, "distill: expected a teacher, found none");
  const Network& input = student == nullptr ? *teachers.front() : *student;
  DistillSettings distilling = distill_settings(how.teaching);
  distilling.recipe = how.recipe;
  return Course(how).run(
      input, training_settings(how.options, how.teaching), [&](const TrainingSettings& settings) {
        std::vector<Network> networks;
        for (const Network* teacher : teachers) networks.push_back(*teacher);
        const auto learner = student == nullptr ? std::nullopt : std::optional<Network>(*student);
        return distill_network(std::move(networks), learner, samples.dataset, distilling, settings);
      });
}

}  // namespace

void bind_training(nb::module_& module) {
  using Arguments = TrainArguments;
  nb::class_<Arguments> how(module, "TrainArguments");
  bind_fields(how,
              [](Arguments& a) { return joined(fields_of(a.options), fields_of(a.teaching)); });
  const auto set_recipe = [](Arguments& a, const std::string& toml) {
    a.recipe = recipe_from(toml, "recipe");
  };
  const auto set_stages = [](Arguments& a, const std::vector<std::string>& stages) {
    a.teaching.stages = train::parse_stages(stages);
  };
  const auto set_features = [](Arguments& a, const std::vector<std::string>& features) {
    for (const std::string& each : features) {
      a.teaching.features.push_back(train::parse_feature_match(each));
    }
  };
  how.def(nb::init<>())
      .def_rw("threads", &Arguments::threads)
      .def_rw("progress", &Arguments::progress, nb::arg().none())
      .def_rw("on_epoch", &Arguments::on_epoch, nb::arg().none())
      .def("set_recipe", set_recipe, nb::arg("toml"))
      .def("set_stages", set_stages, nb::arg("stages"))
      .def("set_features", set_features, nb::arg("features"));
  nb::class_<TrainedHolder>(module, "Trained")
      .def_ro("network", &TrainedHolder::network)
      .def("report", &TrainedHolder::texts, nb::arg("output_bytes"));
  module.def("train", train_python, nb::arg("network"), nb::arg("samples"), nb::arg("keeps_values"),
             nb::arg("how"));
  module.def("distill", distill_python, nb::arg("teachers"), nb::arg("student").none(),
             nb::arg("samples"), nb::arg("how"));
}

}  // namespace halftone::python
