// SPDX-License-Identifier: Apache-2.0
// Trains a student on labels and on the answers of teachers.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/train/learn/training_data.h"
#include "halftone/train/options/train_options.h"
#include "halftone/train/run/history.h"
#include "halftone/train/student/student.h"

namespace halftone::train {

struct TrainedGraph {
  ir::Graph graph;  ///< with the original outputs of the student
  /// The original with the float weights behind the graph's codes; empty without an original.
  ir::Graph original{};
  std::vector<EpochResult> epochs;
  std::optional<std::size_t> best;  ///< epoch of the graph, with a validation split
  bool interrupted = false;         ///< by stop_requested(); the checkpoint can resume
};

/// Trains a network, float or in few bits, by gradient descent on distillation_loss() and
/// feature_loss().
///
/// Each step takes a batch of the shuffled samples in parts; a part is a lane of a spmd::spread()
/// on one thread. Gradients and level statistics are summed in a fixed order, and stochastic
/// rounding uses random numbers of the part. The result is therefore the same, bit for bit, for any
/// number of devices and ranks. Samples that do not fill a batch at the end of an epoch are
/// skipped; the order changes with every epoch.
///
/// A run that is stopped and resumed from its checkpoint gives the same bits as an uninterrupted
/// one. A checkpoint holds the state before a step and is written after the loss and gradients of
/// that step are known to be finite.
/// @param student   with_scores() accepts it
/// @param original  holds the float weights of an encoded student; may be null
/// @throws Error as check_training(), find_features(), Teachers::use_cache() and CheckpointFile;
///         kShape if teachers and student differ; kFormat if a label is not a class; kUnsupported
///         as Student and Teacher, and if loss, gradients or parameters are not finite; such
///         parameters are never written
TrainedGraph train(const ir::Graph& student, const ir::Graph* original, const TrainingData& data,
                   const StudentOptions& student_options, const LearnOptions& options);

}  // namespace halftone::train
