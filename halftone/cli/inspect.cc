// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <optional>

#include "halftone/api/inspection.h"
#include "halftone/api/tensor_container.h"
#include "halftone/base/error.h"
#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct InspectOptions {
  CommonOptions common;
  std::string model;
  ModelOptions model_options;
  bool simplified = false;
  bool work = false;
  std::optional<std::size_t> batch;
  std::string tensor;
  std::string output;
};

template <typename Result>
void print(const InspectOptions& options, const Result& result) {
  std::cout << (options.common.json ? report::to_json(result) : printable(report::to_text(result)));
}

void run_on_container(const InspectOptions& options) {
  if (options.simplified || options.work || !options.model_options.shapes.empty() ||
      !options.model_options.constants.empty()) {
    fail(ErrorKind::kUsage, options.model +
                                ": holds tensors without a graph; leave out the options that look "
                                "at one");
  }
  if (options.tensor.empty()) return print(options, inspect_container(options.model));
  print(options, decode_tensor(options.model, options.tensor, options.output));
}

void run(const InspectOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  if (is_tensor_container(options.model)) return run_on_container(options);
  if (!options.tensor.empty()) {
    fail(ErrorKind::kUsage, options.model + ": expected a GGUF or safetensors file for --tensor");
  }
  const Inspection inspection = inspect_file(
      options.model,
      {options.simplified, options.work, options.batch, options.model_options.parse()});
  print(options, inspection);
}

}  // namespace

void add_inspect(CLI::App& app, Action& action) {
  const auto options = std::make_shared<InspectOptions>();
  CLI::App* verb = add_verb(app, "inspect", "Show what a network is made of",
                            "halftone inspect model.onnx", options->common);
  verb->add_option("model", options->model, "ONNX, TFLite, circle, GGUF or safetensors file")
      ->required()
      ->check(read_path());
  add_model_options(*verb, options->model_options);
  verb->add_flag("--simplified", options->simplified,
                 "As quantize and distill see it, with the names of values that --feature takes");
  CLI::Option* work = verb->add_flag(
      "--work", options->work, "Count the products, operations and bytes of every node as it runs");
  verb->add_option("--batch", options->batch, "Samples that --work counts (default 1)")
      ->check(CLI::Range(std::int64_t{1}, std::int64_t{1} << 40))
      ->needs(work);
  CLI::Option* tensor = verb->add_option("--tensor", options->tensor,
                                         "GGUF, safetensors: a tensor to decode to float32");
  CLI::Option* output =
      verb->add_option("-o,--output", options->output, ".npy file to write the tensor to")
          ->needs(tensor)
          ->check(written_path());
  tensor->needs(output);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
