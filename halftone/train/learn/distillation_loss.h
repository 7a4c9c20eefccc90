// SPDX-License-Identifier: Apache-2.0
// What a classifier answers with before its softmax, and how far from it a student is.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// The graph with more outputs, at the end.
ir::Graph with_outputs(ir::Graph graph, std::span<const ir::ValueId> values);

/// The graph with one output more, the last: the scores behind its first output. Where that is
/// a Softmax (with a slope of 1 or a logarithm, too), they are what the Softmax reads, else the
/// output itself.
/// @throws Error kShape unless the scores are float32 [batch, classes]
ir::Graph with_scores(ir::Graph graph);

struct LossOptions {
  double label_weight = 0;  ///< lambda, 0 to 1
  double temperature = 4;   ///< T > 0
};

/// What teachers say together: log of the mean over them of softmax(t / T).
/// @param teachers  scores [teachers, batch, classes]
/// @return          [batch, classes]
at::Tensor mean_answer(const at::Tensor& teachers, double temperature);

/// lambda CE(s, labels) + (1 - lambda) T^2 KL(p || softmax(s / T)), summed over the batch; s the
/// student's scores, p the mean of the teachers' softmax(t / T).
/// @param student  [batch, classes]
/// @param taught   log p, [batch, classes], as mean_answer() has it for the temperature; may be
///                 undefined if label_weight is 1
/// @param labels   int64 [batch]; may be undefined if label_weight is 0
/// Source: Hinton, Vinyals, Dean, Distilling the knowledge in a neural network, 2015
/// (arXiv:1503.02531), section 2.
at::Tensor distillation_loss(const at::Tensor& student, const at::Tensor& taught,
                             const at::Tensor& labels, const LossOptions& options);

}  // namespace halftone::train
