// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>

#include "halftone/api/model_report.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/page/page.h"
#include "halftone/report/table.h"

namespace halftone::cli {
namespace {

struct ReportOptions {
  CommonOptions common;
  DataOptions data;
  std::string model;
  std::string reference;
  std::string beside;
  ModelOptions model_options;
  std::string output;
  bool measures_times = false;
  std::optional<std::size_t> samples_per_run;
  std::size_t num_worst = 8;
  runtime::ExecutionOptions execution;
  std::string overlay;
  std::vector<std::string> sensitivities;
  std::vector<std::string> searches;
  std::vector<std::string> trainings;
};

/// Fails before the work if a file cannot be written.
void check_files(const ReportOptions& options) {
  for (const std::string& output : {options.output, options.overlay}) {
    if (is_folder(output)) {
      fail(ErrorKind::kIo, output + ": cannot be written: it is a folder");
    }
    const std::filesystem::path folder = std::filesystem::path(output).parent_path();
    if (folder.empty() || is_folder(folder)) continue;
    fail(ErrorKind::kIo, output + ": cannot be written: there is no such folder");
  }
}

ModelReportJob make_job(const ReportOptions& options, const ProgressSink& progress) {
  ModelReportJob job{
      .model = options.model, .reference = options.reference, .beside = options.beside};
  job.import = options.model_options.parse();
  if (!options.data.source.paths.empty()) job.data = options.data.source;
  job.options.samples_per_run = options.samples_per_run;
  job.options.measures_times = options.measures_times;
  job.options.num_worst = options.num_worst;
  compress::EvaluateOptions& evaluation = job.options.evaluation;
  evaluation.batch = options.data.batch;
  evaluation.progress = progress;
  evaluation.execution = options.execution;
  if (options.data.devices > 0) {
    evaluation.devices = spmd::Devices::emulate(static_cast<std::size_t>(options.data.devices));
  }
  return job;
}

std::vector<report::page::SideFile> side_files(const std::vector<std::string>& paths) {
  std::vector<report::page::SideFile> files;
  for (const std::string& path : paths) files.push_back(report::page::read_side_file(path));
  return files;
}

void run(const ReportOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  check_files(options);
  report::page::Content content = content_of(
      report::page::SideFiles{side_files(options.sensitivities), side_files(options.searches),
                              side_files(options.trainings)});
  content.report = [&] {
    Progress progress(options.common, machine);
    return report_files(make_job(options, progress.sink()));
  }();
  const std::string page = report::page::to_html(content);
  NewFiles files;
  files.add(options.output, page);
  if (!options.overlay.empty()) {
    for (const auto& [measure, json] : report::page::overlays(content.report.model)) {
      files.add(overlay_file(options.overlay, measure), json);
    }
  }
  files.finish();
  if (options.common.json) {
    std::cout << report::page::to_json(content);
  } else if (!options.common.quiet) {
    std::cout << printable(options.output) << ", " << report::format_bytes(page.size()) << "\n";
  }
}

void add_content_options(CLI::App& verb, ReportOptions& options) {
  verb.add_option("--reference", options.reference, "Float network to compare with")
      ->check(read_path());
  verb.add_option("--beside", options.beside, "Another network, to show in adjacent columns")
      ->check(read_path());
  verb.add_flag("--time", options.measures_times, "Measure the time of every layer, as bench does");
  verb.add_option("--samples-per-run", options.samples_per_run,
                  "Samples of a run whose kernels and times are shown (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40));
  verb.add_option("--worst", options.num_worst, "Samples to show: those with the worst answers")
      ->check(CLI::Range(0, 1000))
      ->capture_default_str();
  verb.add_option("--overlay", options.overlay,
                  "Write node data for Google's Model Explorer, a file for each measure: NAME.json "
                  "gives NAME-bytes.json, NAME-sqnr.json, ...")
      ->check(written_path());
  verb.add_option("--sensitivity", options.sensitivities,
                  "What sensitivity --json has printed: shows what each choice costs; repeatable")
      ->allow_extra_args(false)
      ->check(read_path());
  verb.add_option("--search", options.searches,
                  "What quantize --budget --json has printed: shows its front; repeatable")
      ->allow_extra_args(false)
      ->check(read_path());
  verb.add_option("--training", options.trainings,
                  "What train --json or distill --json has printed: shows its curves; repeatable")
      ->allow_extra_args(false)
      ->check(read_path());
}

}  // namespace

void add_report(CLI::App& app, Action& action) {
  const auto options = std::make_shared<ReportOptions>();
  CLI::App* verb = add_verb(app, "report", "Write a page about a network: one HTML file",
                            "halftone report model.circle --reference model.onnx --data "
                            "examples/mnist -o report.html",
                            options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  verb->add_option("-o,--output", options->output, "HTML file to write")
      ->required()
      ->check(written_path());
  add_content_options(*verb, *options);
  add_data_options(*verb, options->data, "test");
  verb->get_option("--data")->required(false);
  add_execution_options(*verb, options->execution);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
