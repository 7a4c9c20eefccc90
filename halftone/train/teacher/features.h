// SPDX-License-Identifier: Apache-2.0
// Feature distillation: intermediate values of a student that should match those of a teacher.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/train/options/train_options.h"

namespace halftone::train {

/// Values of both graphs, one per match.
struct FeatureValues {
  std::vector<ir::ValueId> teacher;
  std::vector<ir::ValueId> student;
};

/// @throws Error kUsage if a name is unknown, with the most similar names, or a weight is out of
///         range; kShape if two values do not have the same shape [N, ...]
FeatureValues find_features(const ir::Graph& teacher, const ir::Graph& student,
                            std::span<const FeatureMatch> matches);

/// Sum over matches and samples of weight / n |s - t|^2, where s and t are the n elements of the
/// student's and the teacher's value for a sample.
/// Source: Romero et al., FitNets: hints for thin deep nets, ICLR 2015 (arXiv:1412.6550), eq. 3.
/// Differs: no regressor, since the shapes agree; 1 / n instead of 1 / 2, so that weights do not
/// depend on shapes.
/// @param student  float32 [samples, ...] for each match
/// @param teacher  the same
at::Tensor feature_loss(std::span<const at::Tensor> student, std::span<const at::Tensor> teacher,
                        std::span<const FeatureMatch> matches);

}  // namespace halftone::train
