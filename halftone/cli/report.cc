// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <optional>

#include "halftone/api/export_c.h"
#include "halftone/api/language_report.h"
#include "halftone/api/model_report.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/page/language_page.h"
#include "halftone/report/page/page.h"
#include "halftone/report/table.h"
#include "halftone/types/defaults.hpp"

namespace halftone::cli {
namespace {

struct ReportOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  std::string reference;
  std::vector<std::string> beside;
  std::string classes;
  ModelOptions model_options;
  std::string output;
  bool measures_times = false;
  bool is_live = false;
  std::optional<std::size_t> samples_per_run;
  std::size_t num_worst = v0::kWorstSamples;
  runtime::ExecutionOptions execution;
  std::string overlay;
  std::vector<std::string> sensitivities;
  std::vector<std::string> searches;
  std::vector<std::string> trainings;
  TextEvaluationJob language;  ///< of a language model
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
  ModelReportJob job{.model = options.model, .reference = options.reference};
  job.beside.assign(options.beside.begin(), options.beside.end());
  job.classes = options.classes;
  job.import = options.model_options.parse();
  if (!options.data.source.paths.empty()) job.data = options.data.source;
  job.options.samples_per_run = options.samples_per_run;
  job.options.measures_times = options.measures_times;
  job.options.num_worst = options.num_worst;
  compress::EvaluateSettings& evaluation = job.options.evaluation;
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

/// Prints the numbers as JSON if asked for, else a line about the file.
template <typename Content>
void print_page(const ReportOptions& options, const Content& content, std::size_t bytes) {
  if (options.common.json) {
    std::cout << report::page::to_json(content);
  } else if (!options.common.quiet) {
    std::cout << printable(options.output) << ", " << report::format_bytes(bytes) << "\n";
  }
}

void run_on_language_model(const ReportOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  check_files(options);
  report::page::LanguageContent content;
  for (const report::page::SideFile& file : side_files(options.sensitivities)) {
    content.sensitivities.push_back(report::page::sensitivity_of(file));
  }
  TextEvaluationJob job = options.language;
  job.model = options.model;
  job.reference = options.reference;
  job.open.set_execution(options.execution);
  content.report = [&] {
    Progress progress(options.common, machine);
    job.progress = progress.sink();
    return report_language_model(job, options.measures_times);
  }();
  const std::string page = report::page::to_html(content);
  write_file(options.output, page);
  print_page(options, content, page.size());
}

void run(const ReportOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  check_files(options);
  report::page::Content content = content_of(
      report::page::SideFiles{side_files(options.sensitivities), side_files(options.searches),
                              side_files(options.trainings)});
  if (options.is_live) {
    std::optional<data::Dataset> samples;
    if (!options.data.source.paths.empty()) samples = options.data.source.open();
    content.live = live_module(load(options.model, options.model_options.parse()),
                               samples ? &*samples : nullptr);
  }
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
  print_page(options, content, page.size());
}

/// Adds the options of language models. @return them
std::vector<CLI::Option*> add_text_options(CLI::App& verb, ReportOptions& options) {
  CLI::Option* text =
      verb.add_option("--text", options.language.texts,
                      "Text in UTF-8: measure a language model's perplexity on it; several may be "
                      "given")
          ->check(read_path())
          ->allow_extra_args(false);
  lm::WindowOptions& used = options.language.windows;
  const Fields fields = window_fields(used.context, used.stride, used.limit, used.second_half);
  CLI::Option* context = add_field(verb, *find_field(fields, "window"))->needs(text);
  CLI::Option* windows = add_field(verb, *find_field(fields, "max_windows"))->needs(text);
  add_open_fields(verb, options.language.open, {"tokenizer", "bits"});
  return {text, context, windows, verb.get_option("--tokenizer"), verb.get_option("--bits")};
}

void add_content_options(CLI::App& verb, ReportOptions& options) {
  verb.add_option("--reference", options.reference, "Float network to compare with")
      ->check(read_path());
  verb.add_option("--beside", options.beside,
                  "Another network, to compare with; repeatable, up to 4 times")
      ->allow_extra_args(false)
      ->expected(1, static_cast<int>(kMaxBeside))
      ->check(read_path());
  verb.add_option("--classes", options.classes,
                  "Names of the classes: a text file with a line for each, from class 0")
      ->check(read_path());
  add_fields(verb, page_fields(options.samples_per_run, options.num_worst, options.measures_times,
                               options.is_live));
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
  CLI::App* verb = add_verb(app, "report", "Write a page about a network or a language model",
                            "halftone report model.circle --reference model.onnx --data "
                            "examples/mnist -o report.html\n"
                            "halftone report model.gguf --text text.txt -o report.html",
                            options->common);
  verb->add_option("model", options->model,
                   "ONNX, TFLite or circle file; or a language model: a GGUF file, a folder of "
                   "Hugging Face, Halftone's own file or a .bin file of llama2.c")
      ->required()
      ->check(read_path());
  verb->add_option("-o,--output", options->output, "HTML file to write")
      ->required()
      ->check(written_path());
  const std::size_t before = verb->get_options().size();
  add_model_options(*verb, options->model_options);
  add_content_options(*verb, *options);
  add_data_options(*verb, options->data, "test");
  verb->get_option("--data")->required(false);
  std::vector<CLI::Option*> networks = options_from(*verb, before);
  for (const char* shared : {"--reference", "--sensitivity", "--time"}) {
    std::erase(networks, verb->get_option(shared));
  }
  add_execution_options(*verb, options->execution);
  const std::vector<CLI::Option*> texts = add_text_options(*verb, *options);
  verb->final_callback([options, &action, networks, texts] {
    const bool is_language = is_language_model(options->model);
    if (is_language) refuse_given(networks, kNetworkOnly);
    if (!is_language) refuse_given(texts, kLanguageOnly);
    if (is_language && options->language.texts.empty() && !options->reference.empty()) {
      throw CLI::RequiresError("--reference, of a language model,", "--text");
    }
    action = [options, is_language](const Machine& machine) {
      is_language ? run_on_language_model(*options, machine) : run(*options, machine);
    };
  });
}

}  // namespace halftone::cli
