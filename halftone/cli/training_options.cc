// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

namespace halftone::cli {
namespace {

/// A path beside which run.csv and run.svg have room.
CLI::Validator checkpoint_path() {
  const auto check = [](const std::string& text) -> std::string {
    const std::string ending = std::filesystem::path(text).extension().string();
    if (text.empty()) return "expected a path, found an empty one";
    if (ending != ".csv" && ending != ".svg") return "";
    return "expected another ending than those of the files beside it, found '" + ending + "'";
  };
  return {check, ""};
}

void add_optimizer_options(CLI::App& verb, TrainingOptions& options) {
  train::OptimizerOptions& optimizer = options.train.optimizer;
  verb.add_option("--optimizer", options.optimizer, "adam (decoupled decay) or sgd (Nesterov's)")
      ->check(CLI::IsMember({"adam", "sgd"}))
      ->capture_default_str();
  verb.add_option("--rate", optimizer.rate, "Learning rate, which the schedule changes")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  verb.add_option("--momentum", optimizer.momentum, "Of sgd")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option("--weight-decay", optimizer.weight_decay, "Of the optimizer")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_option("--most-gradient", optimizer.clip_grad_norm,
                  "Cut the gradient's norm to this; 0: never")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  train::ScheduleOptions& schedule = optimizer.schedule;
  verb.add_option("--schedule", options.schedule,
                  "How the rate falls: cosine (to 0), step (at milestones) or constant")
      ->check(CLI::IsMember({"cosine", "step", "constant"}))
      ->capture_default_str();
  verb.add_option("--milestones", schedule.milestones,
                  "Shares of the training after which the rate steps down")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->capture_default_str();
  verb.add_option("--decay", schedule.decay, "What the rate is multiplied with at a milestone")
      ->capture_default_str();
  verb.add_option("--warm-up", schedule.warm_up, "Epochs in which the rate rises from 0")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void add_precision_options(CLI::App& verb, TrainingOptions& options) {
  verb.add_option("--precision", options.precision,
                  "Format of float weights and activations as layers multiply them: fp32, fp16, "
                  "bf16, e4m3, e5m2, e3m2, e2m3, e2m1, int2 to int16")
      ->capture_default_str();
  verb.add_option("--gradient-format", options.gradient_format,
                  "Format of the gradients by what layers give; as --precision")
      ->capture_default_str();
  verb.add_option("--gradient-rounding", options.gradient_rounding,
                  "stochastic (right on average) or nearest")
      ->check(CLI::IsMember({"stochastic", "nearest"}))
      ->capture_default_str();
  verb.add_option("--loss-scale", options.train.loss_scale,
                  "Power of two that lifts gradients into the range of their format")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void add_run_options(CLI::App& verb, train::TrainOptions& train) {
  verb.add_option("--hold-out", train.hold_out,
                  "Share of the samples, chosen by the seed, that is not trained on: the epoch "
                  "that does best on them is written")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_option("--patience", train.patience,
                  "End after so many epochs that were no better on what is held out; 0: never")
      ->capture_default_str();
  CLI::Option* checkpoint =
      verb.add_option("--checkpoint", train.checkpoint.path,
                      "File to keep the run in, with its course beside it as .csv and .svg")
          ->check(checkpoint_path());
  verb.add_option("--checkpoint-minutes", train.checkpoint.minutes,
                  "Time between two checkpoints; 0: every step")
      ->needs(checkpoint)
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb.add_flag("--resume", train.checkpoint.resume, "Go on from the checkpoint")
      ->needs(checkpoint);
}

}  // namespace

train::StudentOptions TrainingOptions::student_options() const {
  train::StudentOptions result;
  result.normalises = normalises;
  result.device = train::device_from(device);
  result.precision.weights = result.precision.activations = train::parse_number_format(precision);
  result.precision.gradients = train::parse_number_format(gradient_format);
  result.precision.gradient_rounding =
      gradient_rounding == "nearest" ? train::Rounding::kNearest : train::Rounding::kStochastic;
  return result;
}

void add_training_options(CLI::App& verb, TrainingOptions& options) {
  verb.add_option("-o,--output", options.output, "File to write: .circle, .tflite or .onnx")
      ->required()
      ->check(some_path());
  options.data.batch = 128;
  add_data_options(verb, options.data, "train");
  train::TrainOptions& train = options.train;
  verb.add_option("--epochs", train.epochs, "How often all samples are seen")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_optimizer_options(verb, options);
  add_precision_options(verb, options);
  verb.add_flag("--no-batch-norm{false}", options.normalises,
                "Do not normalise the outputs of layers while they learn");
  verb.add_option("--device", options.device, "cpu, or cuda where libtorch was built for it")
      ->check(CLI::IsMember({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--freeze-from", train.freeze_from,
                  "Share of the steps after which layers are frozen in turn; 1: none is")
      ->check(CLI::Range(0.0, 1.0))
      ->capture_default_str();
  verb.add_flag("--flip", train.augment.flip, "Mirror every second image");
  verb.add_option("--crop", train.augment.padding, "Move images by up to so many pixels")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  verb.add_option("--parts", train.parts,
                  "Parts of a batch that devices share; the result depends on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_run_options(verb, train);
}

}  // namespace halftone::cli
