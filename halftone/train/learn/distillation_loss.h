// SPDX-License-Identifier: Apache-2.0
// The scores of a network before its softmax, and the distillation loss between them.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <span>

#include "halftone/ir/graph.h"
#include "halftone/train/options/train_options.h"

namespace halftone::train {

/// Appends values to the outputs of a graph.
ir::Graph with_outputs(ir::Graph graph, std::span<const ir::ValueId> values);

/// Appends the scores behind the first output to the outputs of a graph, with the classes as last
/// axis: [batch, classes] or [batch, positions..., classes]. If a Softmax of slope 1 or its
/// logarithm computes that output, the scores are its input and the classes its axis, else the
/// scores are the output and the classes its channels: the last axis before a Transpose at the end.
/// @throws Error kShape unless the scores are float32 and each sample has scores of known extents
ir::Graph with_scores(ir::Graph graph);

/// The extents of the scores of one sample. A label belongs to one position.
struct ScoreExtents {
  std::int64_t positions = 1;
  std::int64_t classes = 1;

  [[nodiscard]] std::int64_t size() const { return positions * classes; }
  bool operator==(const ScoreExtents&) const = default;
};
/// Of the shape of scores, as from with_scores().
ScoreExtents score_extents(const ir::Shape& scores);

/// The mean squared error to the mean of the teachers' scores, summed over the batch.
/// @param student   [batch, scores]
/// @param teachers  [teachers, batch, scores]
at::Tensor squared_error_loss(const at::Tensor& student, const at::Tensor& teachers);

/// The combined answer of the teachers: log of the mean over teachers of softmax(t / T).
/// @param teachers  scores [teachers, batch, classes]
/// @return          [batch, classes]
at::Tensor mean_answer(const at::Tensor& teachers, double temperature);

/// lambda CE(s, labels) + (1 - lambda) T^2 KL(p || softmax(s / T)), summed over the batch, where s
/// are the student's scores and p is the mean of the teachers' softmax(t / T).
/// @param student  [batch, classes]
/// @param taught   log p, [batch, classes], from mean_answer() at the same temperature; may be
///                 undefined if label_weight is 1
/// @param labels   int64 [batch]; may be undefined if label_weight is 0
/// Source: Hinton, Vinyals, Dean, Distilling the knowledge in a neural network, 2015
/// (arXiv:1503.02531), section 2.
at::Tensor distillation_loss(const at::Tensor& student, const at::Tensor& taught,
                             const at::Tensor& labels, const LossOptions& options);

}  // namespace halftone::train
