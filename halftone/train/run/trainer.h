// SPDX-License-Identifier: Apache-2.0
// Training a student on data, and on what a teacher makes of it.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/train/run/history.h"
#include "halftone/train/run/train_options.h"
#include "halftone/train/student/student.h"

namespace halftone::train {

struct TrainResult {
  ir::Graph graph;  ///< with the outputs the student came with
  /// The original, with the float numbers that the graph's codes stand for; empty without one.
  ir::Graph original{};
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
/// @throws Error as check_training(), find_features(), Teachers::use_cache() and CheckpointFile;
///         kShape if teachers and student differ; kFormat if a label is no class; kUnsupported as
///         Student and Teacher, and if loss, gradient or parameters are no numbers any more, of
///         which nothing is written
TrainResult train(const ir::Graph& student, const ir::Graph* original,
                  const std::vector<ir::Graph>& teachers, const data::Dataset& data,
                  const StudentOptions& student_options, const TrainOptions& options);

}  // namespace halftone::train
