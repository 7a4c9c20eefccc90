// SPDX-License-Identifier: Apache-2.0
// Checks the options of a training run.
#pragma once

#include <cstddef>

#include "halftone/data/dataset.h"
#include "halftone/train/options/train_options.h"

namespace halftone::train {

/// Checks that samples, teachers and options are compatible, before a student is built.
/// @throws Error kUsage if labels, teachers or samples are missing, options are out of range, or
///         the teacher cache cannot serve these options
void check_training(const LearnOptions& options, const data::Dataset& data,
                    std::size_t num_teachers);

}  // namespace halftone::train
