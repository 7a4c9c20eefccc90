// SPDX-License-Identifier: Apache-2.0
// The fields of options for networks and language models that learn.
#include <utility>

#include "halftone/api/option_fields.h"

namespace halftone {
namespace {

using Range = FieldRange;

Fields optimizer_fields(v0::TrainOptions& o) {
  return {
      Field::word("optimizer", &o.optimizer, "adam (decoupled decay) or sgd (Nesterov's)",
                  {"adam", "sgd"}),
      {"learning_rate", &o.learning_rate, "Learning rate before the schedule's factor",
       Range::above(0)},
      {"momentum", &o.momentum, "Momentum of sgd", Range::between(0, 1)},
      {"weight_decay", &o.weight_decay, "Weight decay; decoupled with adam (AdamW)",
       Range::from(0)},
      {"clip_grad_norm", &o.clip_grad_norm, "Clip the norm of the gradient to this; 0: no clipping",
       Range::from(0)},
      Field::word("schedule", &o.schedule,
                  "Learning rate schedule: cosine (to 0), step (at milestones) or constant",
                  {"cosine", "step", "constant"}),
      {"milestones", &o.milestones,
       "Fractions of the training at which the learning rate drops (step)", Range::between(0, 1)},
      {"schedule_decay", &o.schedule_decay, "Factor on the learning rate at each milestone (step)",
       Range::above(0)},
      {"warmup_epochs", &o.warmup_epochs, "Epochs of linear warm-up of the learning rate",
       Range::from(0)},
  };
}

Fields precision_fields(v0::TrainOptions& o) {
  return {
      {"precision", &o.precision,
       "Format of float weights and activations as layers multiply them: fp32, or a number system "
       "of `halftone systems` with its bits if it has several: bf16, int8, mxfp8_e4m3"},
      {"gradient_format", &o.gradient_format,
       "Format of gradients with respect to layer outputs; as --precision"},
      Field::word("gradient_rounding", &o.gradient_rounding,
                  "stochastic (right on average) or nearest", {"stochastic", "nearest"}),
      {"loss_scale", &o.loss_scale,
       "Power of two that lifts gradients into the range of their format", Range::above(0)},
      Field::clearable("batch_norm", &o.batch_norm,
                       "Normalise the outputs of layers while they learn", "--no-batch-norm",
                       "Do not normalise the outputs of layers while they learn"),
      Field::word("device", &o.device, "cpu, or cuda where libtorch was built for it",
                  {"cpu", "cuda"}),
  };
}

Fields run_fields(v0::TrainOptions& o) {
  return {
      {"freeze_from", &o.freeze_from,
       "Share of the steps after which layers are frozen in turn; 1: no layer is",
       Range::between(0, 1)},
      {"flip", &o.flip, "Flip images horizontally, each with probability 1/2"},
      {"crop", &o.crop, "Random crop after padding images by so many pixels",
       Range::between(0, 64)},
      {"parts", &o.parts, "Parts of a batch that devices share; the result depends on it",
       Range::between(1, 1024)},
      {"validation_split", &o.validation_split,
       "Fraction of the samples, chosen by the seed, held out for validation: the epoch with the "
       "best validation accuracy is written",
       Range::between(0, 1)},
      {"patience", &o.patience,
       "Stop after so many epochs without better validation accuracy; 0: never"},
      {"checkpoint", &o.checkpoint,
       "File for checkpoints, with the learning curve beside it as .csv and .svg"},
      {"checkpoint_minutes", &o.checkpoint_minutes, "Time between two checkpoints; 0: every step",
       Range::from(0)},
      {"resume", &o.resume, "Continue from the checkpoint"},
  };
}

}  // namespace

Fields fields_of(v0::TrainOptions& o) {
  Fields fields = {
      {"epochs", &o.epochs, "Passes over the samples", Range::between(1, 100000)},
      {"batch", &o.batch, "Samples of a step", Range::between(1, 65536)},
      {"seed", &o.seed, "Seed of everything random"},
  };
  for (Fields more : {optimizer_fields(o), precision_fields(o), run_fields(o)}) {
    fields = joined(std::move(fields), std::move(more));
  }
  return fields;
}

Fields fields_of(v0::TeachingOptions& o) {
  return {
      {"fresh", &o.fresh, "Give the student, a float network, initial values"},
      {"calibration", &o.calibration,
       "Samples, from the front, that the student is fitted to before it learns",
       Range::between(1, 1 << 30)},
      {"temperature", &o.temperature, "Softens the teacher's answers", Range::above(0)},
      Field::word(
          "loss", &o.loss,
          "kl: probabilities of classes; mse: squared error of scores; auto: mse for one score at "
          "each position",
          {"auto", "kl", "mse"}),
      {"label_weight", &o.label_weight, "Share of the labels in the loss; 0: none are needed",
       Range::between(0, 1)},
      {"teacher_cache", &o.teacher_cache,
       "File of the teachers' answers, made where it is missing; not with --flip, --crop"},
      Field::word("levels", &o.levels, "How bases learn: gradient, or average of closed forms",
                  {"gradient", "average"}),
      {"level_rate_factor", &o.level_rate_factor,
       "Learning rate of levels is --learning-rate times this (--levels gradient)",
       Range::above(0)},
      {"crossbar", &o.crossbar,
       "Train with the noise of its cells: a TOML file that describes a crossbar, or ideal, pcm, "
       "reram"},
      crossbar_seconds_field("crossbar_seconds", o.crossbar_seconds),
  };
}

Fields fields_of(v0::LanguageDistillOptions& o) {
  return {
      {"second_text", &o.second_text, "Text of another domain, which is measured before and after"},
      {"sample_tokens", &o.sample_tokens, "Tokens of a sample", Range::from(2)},
      {"held_out", &o.held_out,
       "Samples of the texts to judge by, from which the model does not learn", Range::from(1)},
      {"steps", &o.steps, "Steps of tuning, of --batch samples each", Range::from(1)},
      {"batch", &o.batch, "Samples of a step", Range::from(1)},
      {"learning_rate", &o.learning_rate,
       "Learning rate before the schedule; default: 0.003 times the square root of the divergence "
       "before the first step, or of 1 if that is less",
       Range::above(0)},
      {"basis_rate_factor", &o.basis_rate_factor,
       "Learning rate of vector bases is --learning-rate times this; 0: they stay", Range::from(0)},
      {"minutes", &o.minutes,
       "Stop after so many minutes, with the best state so far; more steps follow with --state",
       Range::above(0)},
      {"state", &o.state,
       "File for the state of the run, from which it goes on if the file exists"},
      {"seed", &o.seed, "Seed of the order of the samples"},
  };
}

}  // namespace halftone
