// SPDX-License-Identifier: Apache-2.0
// Options of a training run. As all headers of this folder, without libtorch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/spmd/devices.hpp"
#include "halftone/train/run/history.h"
#include "halftone/train/run/schedule.h"
#include "halftone/train/samples/augment.h"
#include "halftone/types/train.hpp"

namespace halftone::train {

enum class OptimizerKind { kSgd, kAdam };

struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::kAdam;
  double rate = v0::TrainOptions{}.learning_rate;  ///< before the schedule's factor
  /// Learning rate of level parameters, relative to `rate`.
  double level_rate = v0::TeachingOptions{}.level_rate_factor;
  double momentum = v0::TrainOptions{}.momentum;  ///< Nesterov momentum of SGD
  /// Decoupled with Adam (AdamW); levels do not decay.
  double weight_decay = v0::TrainOptions{}.weight_decay;
  /// Maximum norm of the gradient; 0: no clipping.
  double clip_grad_norm = v0::TrainOptions{}.clip_grad_norm;
  ScheduleOptions schedule{};
};

/// What a student learns from its teachers' scores.
enum class LossKind {
  kAuto,           ///< kSquaredError for one score at each position, else kProbabilities
  kProbabilities,  ///< the probabilities of classes
  kSquaredError,   ///< the scores themselves, of a regression
};

std::string_view to_string(LossKind kind);  ///< "auto", "kl", "mse"

struct LossOptions {
  double label_weight = v0::TeachingOptions{}.label_weight;  ///< lambda, 0 to 1
  double temperature = v0::TeachingOptions{}.temperature;    ///< T > 0
  LossKind kind = LossKind::kAuto;
};

/// Values are named, or the node that computes them; the last one if several have the name. The
/// weight is that of feature_loss().
using v0::FeatureMatch;

/// Parses "TEACHER=STUDENT" or "TEACHER=STUDENT:WEIGHT". Text after the last colon is part of the
/// name unless it is a number.
/// @throws Error kUsage "feature 'TEXT': expected ..."
FeatureMatch parse_feature_match(std::string_view text);

struct CheckpointOptions {
  std::string path;  ///< empty: no checkpoints
  /// Between two saves; 0: before every step.
  double minutes = v0::TrainOptions{}.checkpoint_minutes;
  bool resume = false;  ///< continue from the file; if false, it must not exist
};

using v0::Stage;

/// Parses texts "BITS:EPOCHS".
/// @throws Error kUsage unless bits are 1 to 8 and decrease from stage to stage, and epochs are at
///         least 1
std::vector<Stage> parse_stages(const std::vector<std::string>& texts);

/// Their defaults are those of v0::TrainOptions, of which api/training_options.h makes them.
struct LearnOptions {
  std::size_t epochs = v0::TrainOptions{}.epochs;
  /// Samples of a step, in `parts` lanes of equal size.
  std::size_t batch = v0::TrainOptions{}.batch;
  /// Of a batch; changes the bits of the result, unlike devices.
  std::size_t parts = v0::TrainOptions{}.parts;
  OptimizerOptions optimizer;
  LossOptions loss;
  std::vector<FeatureMatch> features{};  ///< of the first teacher; their loss is added
  /// File with the teachers' answers, created if missing; empty: teachers run in every step. The
  /// result is the same. See Teachers::use_cache().
  std::filesystem::path teacher_cache{};
  /// The loss is multiplied by this factor before gradients are computed, and the gradients are
  /// divided by it: a power of two that keeps gradients within the range of
  /// PrecisionOptions::gradients.
  /// Source: Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740).
  double loss_scale = v0::TrainOptions{}.loss_scale;
  AugmentOptions augment;
  /// Share of the steps after which layers are frozen one by one, from the first on, at equal
  /// intervals; later layers adapt to the frozen ones. 1: no layer is frozen.
  double freeze_from = v0::TrainOptions{}.freeze_from;
  std::uint64_t seed = 0;
  double validation_split = 0;  ///< share of validation samples; the seed selects them
  std::size_t patience = 0;     ///< stop after so many epochs without improvement; 0: never
  CheckpointOptions checkpoint{};
  /// Whether to stop; called once in each step, on every rank; one that says so stops all.
  std::function<bool()> stop_requested = nullptr;
  /// Receives the finished epochs after each epoch and each checkpoint, on the first rank.
  std::function<void(const std::vector<EpochResult>& epochs)> record = nullptr;
  ProgressSink progress = nullptr;
  spmd::Devices devices{};  ///< empty: one emulated device per thread of parallel_for()
};

}  // namespace halftone::train
