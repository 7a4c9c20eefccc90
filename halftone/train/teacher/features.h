// SPDX-License-Identifier: Apache-2.0
// Values between the layers of a teacher that those of a student are to be like.
#pragma once

#include <ATen/core/Tensor.h>

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// A value of the teacher and the one of the student that is to be like it, each by its name or by
/// that of the node that computes it; of several so called, the last.
struct FeatureMatch {
  std::string teacher;
  std::string student;
  double weight = 1;  ///< of feature_loss() in the loss; above 0
};

/// "TEACHER=STUDENT" or "TEACHER=STUDENT:WEIGHT". What follows the last colon is part of a name
/// unless it is a number.
/// @throws Error kUsage "feature 'TEXT': expected ..."
FeatureMatch parse_feature_match(std::string_view text);

/// Values of both graphs, one each per match.
struct FeatureValues {
  std::vector<ir::ValueId> teacher;
  std::vector<ir::ValueId> student;
};

/// @throws Error kUsage if a name is unknown, with those most like it, or a weight is out of range;
///         kShape if two values do not have one shape [N, ...]
FeatureValues find_features(const ir::Graph& teacher, const ir::Graph& student,
                            std::span<const FeatureMatch> matches);

/// Sum over matches and samples of weight / n |s - t|^2; s and t the n numbers that a value of the
/// student and of the teacher has for a sample.
/// Source: Romero et al., FitNets: hints for thin deep nets, ICLR 2015 (arXiv:1412.6550), eq. 3,
/// without its regressor (the shapes agree) and with 1 / n for its 1 / 2, so that weights do not
/// depend on shapes.
/// @param student  float32 [samples, ...] for each match
/// @param teacher  the same
at::Tensor feature_loss(std::span<const at::Tensor> student, std::span<const at::Tensor> teacher,
                        std::span<const FeatureMatch> matches);

}  // namespace halftone::train
