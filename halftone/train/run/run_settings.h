// SPDX-License-Identifier: Apache-2.0
// What decides the result of a run.
#pragma once

#include <vector>

#include "halftone/train/run/checkpoint.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {

/// Networks and data by their fingerprints, options by their values. Devices, paths and what only
/// watches are none of it.
/// @param original  may be null
RunSettings run_settings(const ir::Graph& student, const ir::Graph* original,
                         const std::vector<ir::Graph>& teachers, const data::Dataset& data,
                         const StudentOptions& student_options, const TrainOptions& options);

}  // namespace halftone::train
