// SPDX-License-Identifier: Apache-2.0
// The pages about networks and language models.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>
#include <vector>

#include "halftone/api/language_report.h"
#include "halftone/api/model_report.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/thread_settings.h"
#include "halftone/report/classes.h"
#include "halftone/report/page/language_page.h"
#include "halftone/report/page/page.h"
#include "halftone/types/defaults.hpp"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/progress.h"
#include "python/src/run_job.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;
namespace page = halftone::report::page;

/// A name and what the program has printed with --json.
using Printed = std::vector<std::pair<std::string, std::string>>;

struct ReportArguments : JobArguments {
  runtime::ExecutionOptions execution{};
  std::size_t batch = v0::kRunBatch;
  std::size_t worst = v0::kWorstSamples;
  std::vector<std::string> classes{};
  bool time = false;
  bool live = false;
  std::optional<std::size_t> samples_per_run{};
  Printed sensitivities{};
  Printed searches{};
  Printed trainings{};
};

struct LanguageReportArguments {
  int threads = 0;
  nb::object progress = nb::none();
  std::size_t context = v0::kTextWindow;
  std::size_t windows = 0;
  bool time = false;
  Printed sensitivities{};
};

struct ReportPage {
  std::string html;
  std::string json;
  Printed node_data;  ///< for each measure
};

std::vector<page::SideFile> side_files(const Printed& results) {
  std::vector<page::SideFile> files;
  for (const auto& [name, json] : results) files.push_back({name, json});
  return files;
}

ReportPage report_network(const Network& network, const Network* reference,
                          const std::vector<const Network*>& beside, const Samples* samples,
                          const ReportArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    page::Content content = content_of(page::SideFiles{
        side_files(how.sensitivities), side_files(how.searches), side_files(how.trainings)});
    ModelReportOptions options;
    options.evaluation.batch = how.batch;
    options.evaluation.progress = progress;
    options.evaluation.devices = devices;
    options.evaluation.execution = how.execution;
    options.samples_per_run = how.samples_per_run;
    options.measures_times = how.time;
    options.num_worst = how.worst;
    options.classes = how.classes;
    const data::Dataset* data = samples == nullptr ? nullptr : &samples->dataset;
    if (how.live) content.live = live_module(network, data);
    content.report = report_model({network, reference, beside}, data, options);
    ReportPage result{to_html(content), to_json(content), {}};
    for (page::OverlayFile& file : page::overlays(content.report.model)) {
      result.node_data.emplace_back(std::move(file.measure), std::move(file.json));
    }
    return result;
  });
}

ReportPage language_report_page(const std::filesystem::path& model,
                                const std::vector<std::filesystem::path>& texts,
                                const std::filesystem::path& reference,
                                const std::filesystem::path& tokenizer,
                                const LanguageReportArguments& how) {
  Reporter reporter(how.progress);
  TextEvaluationJob job{.model = model, .reference = reference, .texts = texts};
  job.open.tokenizer = tokenizer;
  job.windows.context = how.context;
  job.windows.limit = how.windows;
  job.progress = reporter.sink();
  return reporter.run([&] {
    ThreadSettings settings = thread_settings();
    settings.threads = how.threads;
    const UseThreadSettings use(settings);
    page::LanguageContent content;
    for (const page::SideFile& file : side_files(how.sensitivities)) {
      content.sensitivities.push_back(page::sensitivity_of(file));
    }
    content.report = report_language_model(job, how.time);
    return ReportPage{to_html(content), to_json(content), {}};
  });
}

void bind_language_report(nb::module_& module) {
  nb::class_<LanguageReportArguments>(module, "LanguageReportArguments")
      .def(nb::init<>())
      .def_rw("threads", &LanguageReportArguments::threads)
      .def_rw("progress", &LanguageReportArguments::progress, nb::arg().none())
      .def_rw("context", &LanguageReportArguments::context)
      .def_rw("windows", &LanguageReportArguments::windows)
      .def_rw("time", &LanguageReportArguments::time)
      .def_rw("sensitivities", &LanguageReportArguments::sensitivities);
  module.def("report_language", language_report_page, nb::arg("model"), nb::arg("texts"),
             nb::arg("reference"), nb::arg("tokenizer"), nb::arg("how"));
}

}  // namespace

void bind_report(nb::module_& module) {
  nb::class_<ReportArguments, JobArguments> arguments(module, "ReportArguments");
  bind_fields(arguments, [](ReportArguments& a) {
    return joined(page_fields(a.samples_per_run, a.worst, a.time, a.live), {batch_field(a.batch)});
  });
  arguments
      .def(
          "__init__",
          [](ReportArguments* how, int threads, nb::object progress,
             const runtime::ExecutionOptions& execution) {
            new (how) ReportArguments{{threads, std::move(progress)}, execution};
          },
          nb::arg("threads"), nb::arg("progress").none(), nb::arg("execution"))
      .def_rw("classes", &ReportArguments::classes)
      .def_rw("sensitivities", &ReportArguments::sensitivities)
      .def_rw("searches", &ReportArguments::searches)
      .def_rw("trainings", &ReportArguments::trainings);
  nb::class_<ReportPage>(module, "ReportPage")
      .def_ro("html", &ReportPage::html)
      .def_ro("json", &ReportPage::json)
      .def_ro("node_data", &ReportPage::node_data);
  bind_language_report(module);
  module.def("result_classes", report::result_classes);
  module.def("class_names", read_class_names, nb::arg("path"));
  module.def("report", report_network, nb::arg("network"), nb::arg("reference").none(),
             nb::arg("beside"), nb::arg("samples").none(), nb::arg("how"));
}

}  // namespace halftone::python
