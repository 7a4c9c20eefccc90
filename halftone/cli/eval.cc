// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/base/printable.h"
#include "halftone/cli/command.h"
#include "halftone/compress/evaluate.h"
#include "halftone/report/report.h"

namespace halftone::cli {
namespace {

struct EvalOptions {
  CommonOptions common;
  DataOptions data;
  std::string model;
  std::string reference;
  bool int8_activations = true;
  runtime::FloatOrder float_order = runtime::FloatOrder::kFastest;
};

void run(const EvalOptions& options, const Machine& machine) {
  apply(options.common);
  const ir::Graph graph = load_to_run(options.model, true);
  std::optional<ir::Graph> reference;
  if (!options.reference.empty()) reference = load_to_run(options.reference, true);
  const data::Dataset data = open_data(options.data);
  const compress::Evaluation evaluation = [&] {
    Progress progress(options.common, machine);
    return compress::evaluate(
        graph, data, reference ? &*reference : nullptr,
        {options.data.batch, progress.sink(), options.model, options.reference,
         options.int8_activations, machine.devices(options.data.devices), options.float_order});
  }();
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
  add_data_options(*verb, options->data, "test");
  verb->add_option("--reference", options->reference, "Network to compare with")
      ->check(some_path());
  add_activation_option(*verb, options->int8_activations);
  add_float_order_option(*verb, options->float_order);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
