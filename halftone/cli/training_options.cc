// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/training_options.h"

#include <CLI/CLI.hpp>
#include <filesystem>

#include "halftone/cli/one_of.h"

namespace halftone::cli {
namespace {

/// A path that leaves room for run.csv and run.svg beside it.
CLI::Validator checkpoint_path() {
  const auto check = [](const std::string& text) -> std::string {
    const std::string ending = std::filesystem::path(text).extension().string();
    if (ending != ".csv" && ending != ".svg") return "";
    return "expected a file extension other than .csv and .svg, which the files beside it have, "
           "found '" +
           ending + "'";
  };
  return CLI::Validator(check, "");
}

void add_optimizer_options(CLI::App& verb, TrainingOptions& options) {
  train::OptimizerOptions& optimizer = options.train.optimizer;
  verb.add_option("--optimizer", options.names.optimizer,
                  "adam (decoupled decay) or sgd (Nesterov's)")
      ->check(OneOf({"adam", "sgd"}))
      ->capture_default_str();
  verb.add_option("--learning-rate", optimizer.rate, "Learning rate before the schedule's factor")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--momentum", optimizer.momentum, "Momentum of sgd")
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_option("--weight-decay", optimizer.weight_decay,
                  "Weight decay; decoupled with adam (AdamW)")
      ->check(non_negative_number())
      ->capture_default_str();
  verb.add_option("--clip-grad-norm", optimizer.clip_grad_norm,
                  "Clip the norm of the gradient to this; 0: no clipping")
      ->check(non_negative_number())
      ->capture_default_str();
  train::ScheduleOptions& schedule = optimizer.schedule;
  verb.add_option("--schedule", options.names.schedule,
                  "Learning rate schedule: cosine (to 0), step (at milestones) or constant")
      ->check(OneOf({"cosine", "step", "constant"}))
      ->capture_default_str();
  verb.add_option("--milestones", schedule.milestones,
                  "Fractions of the training at which the learning rate drops (step)")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_option("--schedule-decay", schedule.decay,
                  "Factor on the learning rate at each milestone (step)")
      ->check(positive_number())
      ->capture_default_str();
  verb.add_option("--warmup-epochs", schedule.warm_up,
                  "Epochs of linear warm-up of the learning rate")
      ->check(non_negative_number())
      ->capture_default_str();
}

void add_precision_options(CLI::App& verb, TrainingOptions& options) {
  verb.add_option("--precision", options.names.precision,
                  "Format of float weights and activations as layers multiply them: fp32, or a "
                  "number system of `halftone systems` with its bits if it has several: bf16, "
                  "int8, mxfp8_e4m3")
      ->capture_default_str();
  verb.add_option("--gradient-format", options.names.gradient_format,
                  "Format of gradients with respect to layer outputs; as --precision")
      ->capture_default_str();
  verb.add_option("--gradient-rounding", options.names.gradient_rounding,
                  "stochastic (right on average) or nearest")
      ->check(OneOf({"stochastic", "nearest"}))
      ->capture_default_str();
  verb.add_option("--loss-scale", options.train.loss_scale,
                  "Power of two that lifts gradients into the range of their format")
      ->check(positive_number())
      ->capture_default_str();
}

void add_run_options(CLI::App& verb, train::TrainOptions& train) {
  verb.add_option("--validation-split", train.validation_split,
                  "Fraction of the samples, chosen by the seed, held out for validation: the epoch "
                  "with the best validation accuracy is written")
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_option("--patience", train.patience,
                  "Stop after so many epochs without better validation accuracy; 0: never")
      ->check(whole_from(0))
      ->capture_default_str();
  CLI::Option* checkpoint =
      verb.add_option("--checkpoint", train.checkpoint.path,
                      "File for checkpoints, with the learning curve beside it as .csv and .svg")
          ->check(checkpoint_path())
          ->check(written_path());
  verb.add_option("--checkpoint-minutes", train.checkpoint.minutes,
                  "Time between two checkpoints; 0: every step")
      ->needs(checkpoint)
      ->check(non_negative_number())
      ->capture_default_str();
  verb.add_flag("--resume", train.checkpoint.resume, "Continue from the checkpoint")
      ->needs(checkpoint);
}

}  // namespace

void add_training_options(CLI::App& verb, TrainingOptions& options) {
  verb.add_option("-o,--output", options.output, "File to write: .circle, .tflite or .onnx")
      ->required()
      ->check(written_path());
  options.data.batch = 128;
  add_model_options(verb, options.model);
  add_data_options(verb, options.data, "train");
  train::TrainOptions& train = options.train;
  verb.add_option("--epochs", train.epochs, "Passes over the samples")
      ->check(CLI::Range(1, 100000))
      ->capture_default_str();
  add_optimizer_options(verb, options);
  add_precision_options(verb, options);
  verb.add_flag("--no-batch-norm{false}", options.normalises,
                "Do not normalise the outputs of layers while they learn");
  verb.add_option("--device", options.names.device, "cpu, or cuda where libtorch was built for it")
      ->check(OneOf({"cpu", "cuda"}))
      ->capture_default_str();
  verb.add_option("--freeze-from", train.freeze_from,
                  "Share of the steps after which layers are frozen in turn; 1: no layer is")
      ->check(number_from(0, 1))
      ->capture_default_str();
  verb.add_flag("--flip", train.augment.flip,
                "Flip images horizontally, each with probability 1/2");
  verb.add_option("--crop", train.augment.padding,
                  "Random crop after padding images by so many pixels")
      ->check(CLI::Range(0, 64))
      ->capture_default_str();
  verb.add_option("--parts", train.parts,
                  "Parts of a batch that devices share; the result depends on it")
      ->check(CLI::Range(1, 1024))
      ->capture_default_str();
  add_run_options(verb, train);
}

}  // namespace halftone::cli
