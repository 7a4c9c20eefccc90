// SPDX-License-Identifier: Apache-2.0
// Training a student on data, and on what a teacher makes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/formats/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.h"
#include "halftone/train/augment.h"
#include "halftone/train/checkpoint_file.h"
#include "halftone/train/history.h"
#include "halftone/train/optimizer.h"
#include "halftone/train/scores.h"
#include "halftone/train/student/student.h"
#include "halftone/train/teacher/features.h"

namespace halftone::train {

struct TrainOptions {
  std::size_t epochs = 1;
  std::size_t batch = 128;  ///< samples of a step, in parts() lanes of equal size
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

struct TrainResult {
  ir::Graph graph;  ///< with the outputs the student came with
  std::vector<EpochResult> epochs;
  std::optional<std::size_t> best;  ///< the epoch the graph is of, where samples are held out
  bool interrupted = false;         ///< stop_requested() said so; the checkpoint can go on
};

/// Trains a network, float or in few bits, by gradient descent on distillation_loss() and
/// feature_loss().
///
/// Every step takes a batch of the shuffled samples, in parts, each a lane of a spmd::spread() on
/// one thread; gradients and what bases move by are summed in a fixed order, and gradients rounded
/// by chance with random numbers of their own part, so that the result is the same, bit for bit,
/// for any number of devices and ranks. What does not fill a batch at the end of an epoch is left
/// out; the order changes with every epoch.
///
/// A run that is stopped and goes on from its checkpoint gives the bits of one that was not. The
/// checkpoint is of the numbers before a step, written once loss and gradient of that step have
/// shown that they are sound.
/// @param student   a classifier, as with_scores() wants it
/// @param original  where the float weights of an encoded student are found, or null
/// @param teachers  of the same classes, on the same data; their softened answers are averaged;
///                  none: labels alone
/// @throws Error kUsage if labels, teachers or samples are missing, options are out of range or a
///         cache is asked for what it does not hold; kShape if teachers and student differ; kFormat
///         if a label is no class; kUnsupported as Student and Teacher, and if loss, gradient or
///         parameters are no numbers any more, of which nothing is written; as find_features(),
///         Teachers::use_cache() and CheckpointFile
TrainResult train(const ir::Graph& student, const ir::Graph* original,
                  const std::vector<ir::Graph>& teachers, const formats::Dataset& data,
                  const StudentOptions& student_options, const TrainOptions& options);

}  // namespace halftone::train
