// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/run.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <string>
#include <vector>

#include "halftone/api/network_device.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct RunOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  std::vector<std::string> inputs;
  std::string output;
  bool is_stream = false;
  std::vector<std::string> states;
  runtime::ExecutionOptions execution;
  std::string device = "cpu";
};

/// "IN=OUT"
TiedNames tied_names(const std::string& text) {
  const std::size_t at = text.find('=');
  if (at == 0 || at == std::string::npos || at + 1 == text.size()) {
    fail(ErrorKind::kUsage, "--tie: expected INPUT=OUTPUT, found '" + text + "'");
  }
  return {text.substr(0, at), text.substr(at + 1)};
}

void run(const RunOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  // One thread, so that the results do not depend on the number of threads.
  RunJob job{options.model,
             {options.inputs.begin(), options.inputs.end()},
             options.output,
             {.execution = options.execution},
             options.model_options.parse()};
  job.options.execution.device = network_device(options.device);
  if (options.is_stream) {
    job.stream.emplace();
    for (const std::string& each : options.states) job.stream->push_back(tied_names(each));
  }
  const std::vector<OutputFile> files = run_files(job);
  std::cout << (options.common.json ? report::to_json(files) : printable(report::to_text(files)));
}

}  // namespace

void add_run(CLI::App& app, Action& action) {
  const auto options = std::make_shared<RunOptions>();
  CLI::App* verb = add_verb(app, "run", "Run a network once on NumPy files",
                            "halftone run model.onnx --input x.npy -o results", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  verb->add_option("--input", options->inputs, "A .npy file for each input, in order")
      ->required()
      ->check(read_path());
  verb->add_option("-o,--output", options->output, "Folder for out0.npy, out1.npy, ...")
      ->required()
      ->check(written_path("FOLDER"));
  CLI::Option* stream =
      verb->add_flag("--stream", options->is_stream,
                     "Inputs are streams: run on one part after the other, and keep what recurrent "
                     "layers and inputs that take an output remember");
  verb->add_option("--tie", options->states,
                   "INPUT=OUTPUT: in a stream, an input that takes what an output gave in the run "
                   "before; repeatable")
      ->needs(stream)
      ->allow_extra_args(false);
  add_execution_options(*verb, options->execution);
  add_field(*verb, device_field(options->device));
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
