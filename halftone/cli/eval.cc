// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <filesystem>
#include <iostream>
#include <vector>

#include "halftone/api/evaluate.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct EvalOptions {
  CommonOptions common;
  DataOptions data;
  std::string model;
  ModelOptions model_options;
  std::string reference;
  runtime::ExecutionOptions execution;
  TuneOptions tune;
};

void run(const EvalOptions& options, const Machine& machine) {
  apply(options.common);
  std::vector<std::filesystem::path> paths{options.model};
  if (!options.reference.empty()) paths.emplace_back(options.reference);
  std::vector<Network> networks = load_all(paths, options.model_options.parse());
  const data::Dataset data = options.data.source.open();
  const TuningFile tuning(options.tune);
  const compress::Evaluation evaluation = [&] {
    Progress progress(options.common, machine);
    compress::EvaluateOptions how;
    how.batch = options.data.batch;
    how.progress = progress.sink();
    how.devices = machine.devices(options.data.devices);
    how.execution = options.execution;
    how.execution.tuning = tuning.tuning();
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
  CLI::App* verb = add_verb(app, "eval", "Measure accuracy, and closeness to another network",
                            "halftone eval model.circle --data examples/mnist "
                            "--reference model.onnx",
                            options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  add_model_options(*verb, options->model_options);
  add_data_options(*verb, options->data, "test");
  verb->add_option("--reference", options->reference, "Network to compare with")
      ->check(some_path());
  add_execution_options(*verb, options->execution);
  add_tune_options(*verb, options->tune);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
