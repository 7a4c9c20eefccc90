// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <utility>

#include "halftone/cli/training_options.h"

namespace halftone::cli {

void add_train(CLI::App& app, Action& action,
               std::function<void(const TrainArguments&, const Machine&)> run) {
  const auto options = std::make_shared<TrainArguments>();
  CLI::App* verb = add_verb(app, "train", "Train a float network on labels, from its graph alone",
                            "halftone train model.onnx -o trained.onnx --data examples/mnist "
                            "--epochs 10 --validation-split 0.1",
                            options->training.common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(read_path());
  verb->add_flag("--keep", options->keep, "Start from the values of the file, not from fresh ones");
  add_training_options(*verb, options->training);
  verb->final_callback([options, &action, run = std::move(run)] {
    action = [options, run](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
