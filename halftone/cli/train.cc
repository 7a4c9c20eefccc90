// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>
#include <string>

#include "halftone/cli/training.h"
#include "halftone/cli/training_run.h"
#include "halftone/formats/model.h"
#include "halftone/train/learn/initial_values.h"

namespace halftone::cli {
namespace {

struct TrainOptions {
  TrainingOptions training;
  std::string model;
  bool keep = false;
};

void run(const TrainOptions& options, const Machine& machine) {
  TrainingRun run(options.training, machine);
  const train::StudentOptions student = options.training.student_options();
  ir::Graph network = load_network(options.model, {.dequantize = true});
  formats::check_model(network, options.training.output);
  const data::Dataset data = open_data(options.training.data);
  run.check_batch(data);
  if (!options.keep) network = train::with_initial_values(network, options.training.common.seed);
  const auto train = [&](train::TrainOptions how) {
    how.loss.label_weight = 1;
    return train::train(network, nullptr, {}, data, student, how);
  };
  run.finish(train, options.model);
}

}  // namespace

void add_train(CLI::App& app, Action& action) {
  const auto options = std::make_shared<TrainOptions>();
  CLI::App* verb = add_verb(app, "train", "Train a float network on labels, from its graph alone",
                            "halftone train model.onnx -o trained.onnx --data examples/mnist "
                            "--epochs 10 --validation-split 0.1",
                            options->training.common);
  verb->add_option("model", options->model, "ONNX, TFLite or circle file")
      ->required()
      ->check(some_path());
  verb->add_flag("--keep", options->keep, "Start from the values of the file, not from fresh ones");
  add_training_options(*verb, options->training);
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
