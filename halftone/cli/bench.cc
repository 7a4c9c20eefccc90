// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <optional>

#include "halftone/api/measure.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

/// Maximum number of elements of a tensor; memory usually runs out first.
constexpr std::int64_t kMaxSamples = std::int64_t{1} << 40;

struct BenchOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  std::optional<std::size_t> batch;
  int devices = 1;
  double seconds = 0.5;
  bool explain = false;
  runtime::ExecutionOptions execution;
  TuneOptions tune;
};

void run(const BenchOptions& options, const Machine& machine) {
  apply(options.common);
  const TuningFile tuning(options.tune);
  const Measurement measurement = [&] {
    runtime::ExecutionOptions execution = options.execution;
    execution.tuning = tuning.tuning();
    Progress progress(options.common, machine);
    tuning.show(progress);
    return measure(load(options.model, options.model_options.parse()),
                   {options.batch, options.seconds, machine.devices(options.devices), execution,
                    progress.sink()});
  }();
  tuning.save(machine);
  if (!machine.is_first()) return;
  std::cout << (options.common.json ? report::to_json(measurement)
                                    : printable(report::to_text(measurement, options.explain)));
}

}  // namespace

void add_bench(CLI::App& app, Action& action) {
  const auto options = std::make_shared<BenchOptions>();
  CLI::App* verb =
      add_verb(app, "bench", "Measure the latency of a network and of each layer",
               "halftone bench model.circle --batch 1 --threads 1 --explain", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  add_model_options(*verb, options->model_options);
  verb->add_option("--batch", options->batch, "Samples per run (default 1)")
      ->check(CLI::Range(std::int64_t{1}, kMaxSamples));
  verb->add_option("--devices", options->devices,
                   "Devices that share the samples, of each process; 0: one for each thread")
      ->check(CLI::Range(0, 1024))
      ->capture_default_str();
  verb->add_option("--seconds", options->seconds, "Measure at least so long")
      ->check(number_from(0, 3600))
      ->capture_default_str();
  verb->add_flag("--explain", options->explain, "Say why each kernel was chosen");
  add_execution_options(*verb, options->execution);
  add_tune_options(*verb, options->tune);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
