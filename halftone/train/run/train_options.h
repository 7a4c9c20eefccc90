// SPDX-License-Identifier: Apache-2.0
// What a run of training is asked to do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/data/dataset.h"
#include "halftone/spmd/devices.h"
#include "halftone/train/learn/distillation_loss.h"
#include "halftone/train/learn/optimizer.h"
#include "halftone/train/run/checkpoint_file.h"
#include "halftone/train/run/history.h"
#include "halftone/train/samples/augment.h"
#include "halftone/train/teacher/features.h"

namespace halftone::train {

struct TrainOptions {
  std::size_t epochs = 1;
  std::size_t batch = 128;  ///< samples of a step, in `parts` lanes of equal size
  std::size_t parts = 2;    ///< of a batch; decides the bits of the result, as devices do not
  OptimizerOptions optimizer;
  LossOptions loss;
  std::vector<FeatureMatch> features{};  ///< of the first teacher, which the loss adds
  /// File of the teachers' answers, made where it is missing; empty: they are asked in every step.
  /// The result is the same. See Teachers::use_cache().
  std::filesystem::path teacher_cache{};
  /// What the loss is multiplied by before gradients are computed, and gradients divided by after:
  /// a power of two that keeps gradients within the range of PrecisionOptions::gradients. Source:
  /// Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740).
  double loss_scale = 1;
  AugmentOptions augment;
  /// Share of the steps after which layers are frozen in turn, the first one first, at equal
  /// distances: each then learns to do with what those before it give. 1: none is.
  double freeze_from = 1;
  std::uint64_t seed = 0;
  double hold_out = 0;       ///< share of the samples, chosen by the seed, never trained on
  std::size_t patience = 0;  ///< epochs without a better held-out share that end it; 0: none do
  CheckpointOptions checkpoint{};
  /// Whether to stop; asked once in each step, on the first rank.
  std::function<bool()> stop_requested = nullptr;
  /// Gets the epochs that are over when there is one more, and when a checkpoint is written; on
  /// the first rank.
  std::function<void(const std::vector<EpochResult>& epochs)> record = nullptr;
  ProgressSink progress = nullptr;
  spmd::Devices devices{};  ///< none: as many emulated ones as parallel_for() may use threads
};

/// Finds out whether samples, teachers and options go together, before work is put into a student.
/// @throws Error kUsage if labels, teachers or samples are missing, options are out of range or a
///         cache is asked for what it does not hold
void check_training(const TrainOptions& options, const data::Dataset& data,
                    std::size_t num_teachers);

}  // namespace halftone::train
