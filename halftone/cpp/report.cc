// SPDX-License-Identifier: Apache-2.0
#include "halftone/report.hpp"

#include <utility>

#include "halftone/api/export_c.h"
#include "halftone/api/language_report.h"
#include "halftone/api/model_report.h"
#include "halftone/cpp/internals.h"
#include "halftone/report/page/language_page.h"
#include "halftone/report/page/page.h"

namespace halftone::v0 {
namespace {

namespace page = halftone::report::page;

const Network* network_of(const std::optional<Model>& model) {
  return model ? &Internals::network(*model) : nullptr;
}

std::vector<page::SideFile> side_files(const std::vector<PrintedResult>& results) {
  std::vector<page::SideFile> files;
  for (const PrintedResult& each : results) files.push_back({each.name, each.json});
  return files;
}

ModelReportOptions report_options(const ReportOptions& options, CallerException& raised) {
  ModelReportOptions how;
  how.evaluation.batch = options.batch;
  how.evaluation.progress = sink_of(options.progress, raised);
  how.evaluation.devices = spmd::Devices::for_threads();
  how.evaluation.execution = execution_options(options.execution);
  if (options.samples_per_run > 0) how.samples_per_run = options.samples_per_run;
  how.measures_times = options.measure_time;
  how.num_worst = options.worst;
  how.classes = options.classes;
  return how;
}

}  // namespace

Report report(const Model& model, const ReportOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        page::Content content = content_of(page::SideFiles{side_files(options.sensitivities),
                                                           side_files(options.searches),
                                                           side_files(options.trainings)});
        ReportedNetworks networks{Internals::network(model), network_of(options.reference)};
        for (const Model& each : options.beside) {
          networks.beside.push_back(&Internals::network(each));
        }
        const data::Dataset* data = options.data ? &Internals::dataset(*options.data) : nullptr;
        if (options.live) content.live = live_module(Internals::network(model), data);
        content.report = report_model(networks, data, report_options(options, raised));
        Report result{to_html(content), to_json(content), {}};
        for (page::OverlayFile& file : page::overlays(content.report.model)) {
          result.node_data.push_back({std::move(file.measure), std::move(file.json)});
        }
        return result;
      },
      {&raised, options.data ? Internals::raised(*options.data) : nullptr});
}

Report language_report(const std::filesystem::path& model, const LanguageReportOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        page::LanguageContent content;
        for (const page::SideFile& file : side_files(options.sensitivities)) {
          content.sensitivities.push_back(page::sensitivity_of(file));
        }
        TextEvaluationJob job{
            .model = model, .reference = options.reference, .texts = options.texts};
        job.open.tokenizer = options.tokenizer;
        job.windows.context = options.context;
        job.windows.limit = options.windows;
        job.progress = sink_of(options.progress, raised);
        content.report = report_language_model(job, options.measure_time);
        return Report{to_html(content), to_json(content), {}};
      },
      {&raised});
}

}  // namespace halftone::v0
