// SPDX-License-Identifier: Apache-2.0
// The module _halftone_train: what needs libtorch, whose libraries are loaded with it.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "halftone/api/language_distillation.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/progress.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// The job, and what it is made of in Python.
struct LanguageDistillArguments {
  LanguageDistillJob job{};
  nb::object progress = nb::none();
};

Texts distill_language(const std::vector<std::filesystem::path>& models,
                       const std::vector<std::filesystem::path>& texts,
                       const LanguageDistillArguments& how) {
  Reporter reporter(how.progress);
  LanguageDistillJob job = how.job;
  job.teacher = models.at(0);
  job.student = models.at(1);
  job.output = models.at(2);
  job.texts = texts;
  // Where Python raises, the run ends after its step, with its state.
  bool stops = false;
  job.options.progress = [&stops, sink = reporter.sink()](double fraction,
                                                          std::string_view activity) {
    try {
      sink(fraction, activity);
    } catch (const Error&) {
      stops = true;
    }
  };
  job.options.stop_requested = [&] { return stops; };
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = job.threads;
    const UseThreadSettings use(settings);
    const TuneReport found = distill_language_model(job);
    if (found.is_interrupted) fail(ErrorKind::kInterrupted, "stopped");
    return Texts(report::to_text(found), report::to_json(found));
  });
}

/// A property of the job.
template <typename Field>
void bind_field(nb::class_<LanguageDistillArguments>& bound, const char* name, const Field& field) {
  using Value = std::decay_t<decltype(field(std::declval<LanguageDistillJob&>()))>;
  bound.def_prop_rw(
      name, [field](LanguageDistillArguments& how) { return field(how.job); },
      [field](LanguageDistillArguments& how, Value value) { field(how.job) = std::move(value); });
}

void bind_language_distill(nb::module_& module) {
  using Job = LanguageDistillJob;
  using Path = std::filesystem::path;
  nb::class_<LanguageDistillArguments> how(module, "LanguageDistillArguments");
  how.def(nb::init<>());
  bind_field(how, "second_text", [](Job& job) -> Path& { return job.second_text; });
  bind_field(how, "state", [](Job& job) -> Path& { return job.state; });
  bind_field(how, "threads", [](Job& job) -> int& { return job.threads; });
  bind_field(how, "sample_tokens", [](Job& job) -> std::size_t& { return job.sample_tokens; });
  bind_field(how, "held_out", [](Job& job) -> std::size_t& { return job.held_out; });
  bind_field(how, "steps", [](Job& job) -> std::size_t& { return job.options.steps; });
  bind_field(how, "batch", [](Job& job) -> std::size_t& { return job.options.batch; });
  bind_field(how, "seed", [](Job& job) -> std::uint64_t& { return job.options.seed; });
  const auto set_limits = [](LanguageDistillArguments& h, std::optional<double> rate,
                             double basis_rate, std::optional<double> minutes) {
    h.job.options.rate = rate;
    h.job.options.basis_rate = basis_rate;
    h.job.options.minutes = minutes;
  };
  how.def("set_limits", set_limits, nb::arg("rate").none(), nb::arg("basis_rate"),
          nb::arg("minutes").none());
  how.def_rw("progress", &LanguageDistillArguments::progress, nb::arg().none());
  module.def("distill_language", distill_language, nb::arg("models"), nb::arg("texts"),
             nb::arg("how"));
}

}  // namespace
}  // namespace halftone::python

NB_MODULE(_halftone_train, module) {
  halftone::python::bind_errors();
  halftone::python::bind_language_distill(module);
  halftone::python::bind_training(module);
}
