// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::train {

/// What a student learns from. Refers to its parts.
struct TrainingData {
  /// With the same classes, on the same data; their softened answers are averaged. None: labels
  /// alone.
  const std::vector<ir::Graph>& teachers;
  const data::Dataset& samples;
};

}  // namespace halftone::train
