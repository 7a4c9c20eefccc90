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
  double rate = 1e-3;         ///< learning rate before the schedule's factor
  double level_rate = 1;      ///< learning rate of level parameters, relative to `rate`
  double momentum = 0.9;      ///< Nesterov momentum of SGD
  double weight_decay = 0;    ///< decoupled with Adam (AdamW); levels do not decay
  double clip_grad_norm = 0;  ///< maximum norm of the gradient; 0: no clipping
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
  double label_weight = 0;  ///< lambda, 0 to 1
  double temperature = 4;   ///< T > 0
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
  std::string path;     ///< empty: no checkpoints
  double minutes = 10;  ///< between two saves; 0: before every step
  bool resume = false;  ///< continue from the file; if false, it must not exist
};

using v0::Stage;

/// Parses texts "BITS:EPOCHS".
/// @throws Error kUsage unless bits are 1 to 8 and decrease from stage to stage, and epochs are at
///         least 1
std::vector<Stage> parse_stages(const std::vector<std::string>& texts);

struct TrainOptions {
  std::size_t epochs = 1;
  std::size_t batch = 128;  ///< samples of a step, in `parts` lanes of equal size
  std::size_t parts = 2;    ///< of a batch; changes the bits of the result, unlike devices
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
  double loss_scale = 1;
  AugmentOptions augment;
  /// Share of the steps after which layers are frozen one by one, from the first on, at equal
  /// intervals; later layers adapt to the frozen ones. 1: no layer is frozen.
  double freeze_from = 1;
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
