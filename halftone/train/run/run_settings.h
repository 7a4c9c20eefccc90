// SPDX-License-Identifier: Apache-2.0
// The settings that affect the result of a run.
#pragma once

#include <string>
#include <vector>

#include "halftone/train/learn/training_data.h"
#include "halftone/train/run/checkpoint.h"
#include "halftone/train/run/trainer.h"

namespace halftone::train {

/// Content hashes of networks and data, and the values of options. LearnOptions::devices, paths and
/// callbacks are not included.
/// @param original  may be null
RunSettings run_settings(const ir::Graph& student, const ir::Graph* original,
                         const TrainingData& data, const StudentOptions& student_options,
                         const LearnOptions& options);

/// The shortest decimal text that identifies the number.
std::string to_text(double number);

}  // namespace halftone::train
