// SPDX-License-Identifier: Apache-2.0
// Options of a training run.
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
  double hold_out = 0;       ///< share of validation samples; the seed selects them
  std::size_t patience = 0;  ///< stop after so many epochs without improvement; 0: never
  CheckpointOptions checkpoint{};
  /// Whether to stop; called once in each step, on the first rank.
  std::function<bool()> stop_requested = nullptr;
  /// Receives the finished epochs after each epoch and each checkpoint, on the first rank.
  std::function<void(const std::vector<EpochResult>& epochs)> record = nullptr;
  ProgressSink progress = nullptr;
  spmd::Devices devices{};  ///< empty: one emulated device per thread of parallel_for()
};

/// Checks that samples, teachers and options are compatible, before a student is built.
/// @throws Error kUsage if labels, teachers or samples are missing, options are out of range, or
///         the teacher cache cannot serve these options
void check_training(const TrainOptions& options, const data::Dataset& data,
                    std::size_t num_teachers);

}  // namespace halftone::train
