// SPDX-License-Identifier: Apache-2.0
// Trainings as people write their options. Needs no libtorch.
#pragma once

#include "halftone/api/training.h"
#include "halftone/types/train.hpp"

namespace halftone {

/// The settings of a training on labels; without what tells the caller of its course, and without
/// devices.
/// @throws Error kUsage "optimizer: expected one of adam, sgd, found 'X'"; as
///         numerics::parse_number_format()
TrainingSettings training_settings(const v0::TrainOptions& options);
/// Of a student.
/// @throws Error likewise
TrainingSettings training_settings(const v0::TrainOptions& options,
                                   const v0::TeachingOptions& teaching);
/// How the student learns; without a recipe.
/// @throws Error as device_of() and train::parse_stages()
DistillSettings distill_settings(const v0::TeachingOptions& teaching);

}  // namespace halftone
