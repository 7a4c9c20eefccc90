// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/run.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct RunOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  std::vector<std::string> inputs;
  std::string output;
  runtime::ExecutionOptions execution;
};

void run(const RunOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  // One thread, so that the results do not depend on the number of threads.
  const std::vector<OutputFile> files = run_files({options.model,
                                                   {options.inputs.begin(), options.inputs.end()},
                                                   options.output,
                                                   {.execution = options.execution},
                                                   options.model_options.parse()});
  std::cout << (options.common.json ? report::to_json(files) : printable(report::to_text(files)));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = add_verb(app, "run", "Run a network once on NumPy files",
                            "halftone run model.onnx --input x.npy -o results", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  add_model_options(*verb, options->model_options);
  verb->add_option("--input", options->inputs, "A .npy file for each input, in order")
      ->required()
      ->check(some_path());
  verb->add_option("-o,--output", options->output, "Folder for out0.npy, out1.npy, ...")
      ->required()
      ->check(some_path("FOLDER"));
  add_execution_options(*verb, options->execution);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
