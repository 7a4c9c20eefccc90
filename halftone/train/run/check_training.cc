// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/check_training.h"

#include <cmath>
#include <cstdlib>
#include <string>

#include "halftone/base/error.h"
#include "halftone/train/samples/validation_split.h"

namespace halftone::train {
namespace {

/// With larger exponents the loss itself might leave the range of float32.
constexpr int kMaxScaleExponent = 64;

[[noreturn]] void fail_usage(const std::string& text) { fail(ErrorKind::kUsage, text); }

void check_batches(const LearnOptions& options, const data::Dataset& data) {
  if (options.parts == 0 || options.batch == 0 || options.batch % options.parts != 0) {
    fail_usage("batch: expected a multiple of the " + std::to_string(options.parts) +
               " parts, found " + std::to_string(options.batch));
  }
  const Split split = split_samples(data.size(), options.validation_split, options.seed);
  if (split.training.size() < options.batch) {
    fail(ErrorKind::kUsage,
         data.name() + ": expected at least the " + std::to_string(options.batch) +
             " samples of a batch, found " + std::to_string(split.training.size()) +
             ": choose a smaller batch or use more samples",
         Hint::kBatch);
  }
  if (options.patience > 0 && split.validation.empty()) {
    fail_usage("patience: expected validation samples, found none");
  }
}

/// @param what  with the range: "momentum: expected 0 to 1"
void check_number(const std::string& what, bool is_right, double found) {
  if (!is_right || !std::isfinite(found)) fail_usage(what + ", found " + std::to_string(found));
}

void check_optimizer(const OptimizerOptions& o) {
  check_number("learning rate: expected a number above 0", o.rate > 0, o.rate);
  check_number("learning rate of levels: expected a factor above 0", o.level_rate > 0,
               o.level_rate);
  check_number("momentum: expected 0 to 1", o.momentum >= 0 && o.momentum <= 1, o.momentum);
  check_number("weight decay: expected a number from 0 on", o.weight_decay >= 0, o.weight_decay);
  check_number("norm of the gradient: expected a number from 0 on", o.clip_grad_norm >= 0,
               o.clip_grad_norm);
}

void check_freezing(const LearnOptions& options) {
  if (!(options.freeze_from >= 0 && options.freeze_from <= 1)) {
    fail_usage("freezing: expected a share of the steps from 0 to 1, found " +
               std::to_string(options.freeze_from));
  }
}

void check_loss(const LearnOptions& options) {
  const double lambda = options.loss.label_weight;
  if (!(lambda >= 0 && lambda <= 1)) {
    fail_usage("label weight: expected 0 to 1, found " + std::to_string(lambda));
  }
  if (!(options.loss.temperature > 0) || !std::isfinite(options.loss.temperature)) {
    fail_usage("temperature: expected a value above 0, found " +
               std::to_string(options.loss.temperature));
  }
  int exponent = 0;
  const double scale = options.loss_scale;
  const bool is_power_of_two = std::frexp(scale, &exponent) == 0.5;
  if (!is_power_of_two || std::abs(exponent - 1) > kMaxScaleExponent) {
    fail_usage("loss scale: expected a power of two from 2^-" + std::to_string(kMaxScaleExponent) +
               " to 2^" + std::to_string(kMaxScaleExponent) + ", found " + std::to_string(scale));
  }
}

void check_cache(const LearnOptions& options, std::size_t num_teachers) {
  if (options.teacher_cache.empty()) return;
  const std::string what = "a cache of teachers' answers ";
  if (num_teachers == 0) fail_usage(what + "needs a teacher");
  if (options.augment.changes()) {
    fail_usage(what + "holds outputs for unmodified samples; augmentation changes the samples");
  }
  if (!options.features.empty()) fail_usage(what + "does not store features to match");
}

}  // namespace

void check_training(const LearnOptions& options, const data::Dataset& data,
                    std::size_t num_teachers) {
  if (options.epochs == 0) fail_usage("epochs: expected at least 1, found 0");
  check_batches(options, data);
  check_optimizer(options.optimizer);
  check_number("minutes between checkpoints: expected a number from 0 on",
               options.checkpoint.minutes >= 0, options.checkpoint.minutes);
  check_freezing(options);
  check_loss(options);
  if (options.loss.label_weight > 0 && !data.has_labels()) {
    fail_usage(data.name() + ": has no labels, which a label weight above 0 needs");
  }
  if (options.loss.label_weight < 1 && num_teachers == 0) {
    fail_usage("a label weight below 1 needs a teacher");
  }
  if (!options.features.empty() && num_teachers == 0) fail_usage("features need a teacher");
  check_cache(options, num_teachers);
  if (options.checkpoint.resume && options.checkpoint.path.empty()) {
    fail(ErrorKind::kUsage, "resume: expected the path of a checkpoint, found none",
         Hint::kCheckpoint);
  }
}

}  // namespace halftone::train
