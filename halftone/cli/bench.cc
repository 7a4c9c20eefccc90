// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <optional>
#include <string>

#include "halftone/api/estimate.h"
#include "halftone/api/language_speed.h"
#include "halftone/api/measure.h"
#include "halftone/api/network_device.h"
#include "halftone/api/option_fields.h"
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

struct BenchOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  std::optional<std::size_t> batch;
  int devices = 1;
  double seconds = TimingSettings().min_seconds;
  bool explain = false;
  runtime::ExecutionOptions execution;
  TuneOptions tune;
  LanguageSpeedSettings speed;  ///< of language models
  OpenOptions open;             ///< likewise; the device of networks too
  std::string accelerator;      ///< whose estimate is shown beside what was measured
};

std::optional<accel::Accelerator> hardware_of(const BenchOptions& options) {
  if (options.accelerator.empty()) return std::nullopt;
  return accel::load_accelerator(options.accelerator);
}

void run_on_language_model(const BenchOptions& options, const Machine& machine) {
  LanguageSpeedSettings how = options.speed;
  how.seed = options.common.seed;
  OpenOptions open = options.open;
  open.context = context_for(how);
  open.set_execution(options.execution);
  open.ranks = machine.ranks();
  if (follows(options.model, open, options.common, machine)) return;
  apply(options.common);
  const std::optional<accel::Accelerator> hardware = hardware_of(options);
  open.on_device = device_output(options.common, machine);
  TextModel model = TextModel::open(options.model, open);
  LanguageSpeed speed = [&] {
    Progress progress(options.common, machine);
    how.progress = progress.sink();
    return measure_language_speed(model, how);
  }();
  if (hardware) predict(speed, options.model, *hardware, open);
  std::cout << (options.common.json ? report::to_json(speed) : printable(report::to_text(speed)));
}

/// Adds the options of language models. @return  all of them
std::vector<CLI::Option*> add_speed_options(CLI::App& verb, BenchOptions& options) {
  std::vector<CLI::Option*> all =
      add_open_fields(verb, options.open, {"tokenizer", "cache", "bits"});
  for (const Field& field : fields_of(options.speed)) {
    if (field.name != "seed") all.push_back(add_field(verb, field));
  }
  for (CLI::Option* option : all) option->group("Language models");
  return all;
}

/// @throws CLI::ParseError if options are not of the kind of model
void check_kind(CLI::App& verb, const std::string& model,
                const std::vector<CLI::Option*>& of_language) {
  if (!is_language_model(model)) return refuse_given(of_language, kLanguageOnly);
  for (const char* name : {"--batch", "--devices", "--seconds", "--explain", "--shape",
                           "--constant", "--max-iterations", "--tune", "--tuning-file"}) {
    refuse_given({verb.get_option(name)}, kNetworkOnly);
  }
}

void run(const BenchOptions& options, const Machine& machine) {
  apply(options.common);
  const std::optional<accel::Accelerator> hardware = hardware_of(options);
  const TuningFile tuning(options.tune);
  MeasuredPlan measurement = [&] {
    runtime::ExecutionOptions execution = options.execution;
    execution.tuning = tuning.tuning();
    execution.device = network_device(options.open.device);
    Progress progress(options.common, machine);
    tuning.show(progress);
    return measure(load(options.model, options.model_options.parse()),
                   {options.batch, options.seconds, machine.devices(options.devices), execution,
                    progress.sink()});
  }();
  tuning.save(machine);
  if (!machine.is_first()) return;
  if (hardware) measurement.predicted = predict(*measurement.plan, *hardware);
  std::cout << (options.common.json ? report::to_json(measurement)
                                    : printable(report::to_text(measurement, options.explain)));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* verb = add_verb(
      app, "bench", "Measure the latency of a network and its layers, or tokens per second",
      "halftone bench model.circle --batch 1 --threads 1 --explain", options->common);
  verb->add_option("model", options->model,
                   "ONNX, TFLite or circle file; or a language model: GGUF file, folder of Hugging "
                   "Face, .bin file of llama2.c")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  add_fields(*verb, timing_fields(options->batch, options->seconds));
  verb->add_option("--devices", options->devices,
                   "Devices that share the samples, of each process; 0: one for each thread")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Say why each kernel was chosen");
  add_execution_options(*verb, options->execution);
  add_field(*verb, device_field(options->open.device));
  verb->add_option("--accelerator", options->accelerator,
                   "Hardware whose estimate is shown beside what was measured, as in estimate")
      ->check(read_path("HARDWARE"));
  add_tune_options(*verb, options->tune);
  const std::vector<CLI::Option*> of_language = add_speed_options(*verb, *options);
  verb->final_callback([options, &action, verb, of_language] {
    check_kind(*verb, options->model, of_language);
    action = [options](const Machine& machine) {
      is_language_model(options->model) ? run_on_language_model(*options, machine)
                                        : run(*options, machine);
    };
  });
}

}  // namespace halftone::cli
