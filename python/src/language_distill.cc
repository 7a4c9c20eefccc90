// SPDX-License-Identifier: Apache-2.0
// The module _halftone_train: what needs libtorch, whose libraries are loaded with it.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <utility>

#include "halftone/api/language_distillation.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/progress.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// The job, and what it is made of in Python.
struct LanguageDistillArguments {
  LanguageDistillJob job{};
  int threads = 0;
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
  job.sink = [&stops, sink = reporter.sink()](double fraction, std::string_view activity) {
    try {
      sink(fraction, activity);
    } catch (const Error&) {
      stops = true;
    }
  };
  job.stop_requested = [&] { return stops; };
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    const TuneReport found = distill_language_model(job);
    if (found.is_interrupted) fail(ErrorKind::kInterrupted, "stopped");
    return Texts(report::to_text(found), report::to_json(found));
  });
}

void bind_language_distill(nb::module_& module) {
  using Arguments = LanguageDistillArguments;
  nb::class_<Arguments> how(module, "LanguageDistillArguments");
  bind_fields(
      how, [](Arguments& a) { return fields_of(static_cast<v0::LanguageDistillOptions&>(a.job)); });
  how.def(nb::init<>())
      .def_rw("threads", &Arguments::threads)
      .def_rw("progress", &Arguments::progress, nb::arg().none());
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
