// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <vector>

#include "halftone/api/evaluate.h"
#include "halftone/api/network_device.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/text_evaluation.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/language.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct EvalOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  ModelOptions model_options;
  std::string reference;
  runtime::ExecutionOptions execution;
  TuneOptions tune;
  TextEvaluationJob text;  ///< of a language model
};

void run_on_text(const EvalOptions& options, const Machine& machine) {
  TextEvaluationJob job = options.text;
  job.model = options.model;
  job.reference = options.reference;
  job.open.set_execution(options.execution);
  job.open.context = job.windows.context;
  job.open.ranks = machine.ranks();
  if (follows(job.model, job.open, options.common, machine)) return;
  apply(options.common);
  const std::vector<TextFileEvaluation> evaluations = [&] {
    Progress progress(options.common, machine);
    job.progress = progress.sink();
    job.open.on_device = [&](const std::string& line) { progress.print_line(line); };
    return evaluate_text_files(job);
  }();
  std::cout << (options.common.json ? report::to_json(evaluations)
                                    : printable(report::to_text(evaluations)));
}

/// Adds the options of language models. @return  --text
CLI::Option* add_text_evaluation_options(CLI::App& verb, TextEvaluationJob& job) {
  CLI::Option* text =
      verb.add_option("--text", job.texts,
                      "Text in UTF-8: measure a language model's perplexity on it; several may be "
                      "given")
          ->check(read_path())
          ->allow_extra_args(false);
  lm::WindowOptions& windows = job.windows;
  const Fields fields =
      window_fields(windows.context, windows.stride, windows.limit, windows.second_half);
  for (const Field& field : fields) add_field(verb, field)->needs(text);
  verb.add_option(
          "--state", job.state,
          "File that keeps what was measured, so that an interrupted run continues; of a second "
          "text FILE.2, and so on")
      ->check(written_path())
      ->needs(text);
  return text;
}

void run(const EvalOptions& options, const Machine& machine) {
  apply(options.common);
  std::vector<std::filesystem::path> paths{options.model};
  if (!options.reference.empty()) paths.emplace_back(options.reference);
  std::vector<Network> networks = load_all(paths, options.model_options.parse());
  const data::Dataset data = options.data.source.open();
  const TuningFile tuning(options.tune);
  const compress::Evaluation evaluation = [&] {
    Progress progress(options.common, machine);
    compress::EvaluateSettings how;
    how.batch = options.data.batch;
    how.progress = progress.sink();
    how.devices = machine.devices(options.data.devices);
    how.execution = options.execution;
    how.execution.tuning = tuning.tuning();
    how.execution.device = network_device(options.text.open.device);
    tuning.show(progress);
    return evaluate(networks.front(), data, networks.size() > 1 ? &networks.back() : nullptr, how);
  }();
  tuning.save(machine);
  std::cout << (options.common.json ? report::to_json(evaluation)
                                    : printable(report::to_text(evaluation)));
}

}  // namespace

void add_eval(CLI::App& app, Action& action) {
  const auto options = std::make_shared<EvalOptions>();
  CLI::App* verb =
      add_verb(app, "eval", "Measure accuracy or perplexity, and closeness to another network",
               "halftone eval model.circle --data examples/mnist "
               "--reference model.onnx",
               options->common);
  verb->add_option("model", options->model,
                   "ONNX, TFLite or circle file; with --text a GGUF file, a folder of Hugging Face "
                   "or a .bin file of llama2.c")
      ->required()
      ->check(read_path());
  const std::size_t before = verb->get_options().size();
  add_model_options(*verb, options->model_options);
  add_data_options(*verb, options->data, "test");
  std::vector<CLI::Option*> networks = options_from(*verb, before);
  verb->add_option("--reference", options->reference, "Network to compare with")
      ->check(read_path());
  add_execution_options(*verb, options->execution);
  add_tune_options(*verb, options->tune);
  for (const char* name : {"--tune", "--tuning-file"}) networks.push_back(verb->get_option(name));
  CLI::Option* data = verb->get_option("--data")->required(false);
  CLI::Option* text = add_text_evaluation_options(*verb, options->text)->excludes(data);
  OpenOptions& open = options->text.open;
  for (CLI::Option* option : add_open_fields(*verb, open, {"tokenizer", "cache", "lora", "bits"})) {
    option->needs(text);
  }
  add_field(*verb, device_field(open.device));
  verb->final_callback([options, &action, data, text, networks] {
    if (!text->empty()) refuse_given(networks, kNetworkOnly);
    if (text->empty() && is_language_model(options->model)) {
      throw CLI::RequiredError(text->get_name() + ", of a language model,");
    }
    if (data->empty() && text->empty()) throw CLI::RequiredError(data->get_name());
    action = [options](const Machine& machine) {
      options->text.texts.empty() ? run(*options, machine) : run_on_text(*options, machine);
    };
  });
}

}  // namespace halftone::cli
