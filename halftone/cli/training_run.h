// SPDX-License-Identifier: Apache-2.0
// Runs the verbs that train. Needs libtorch.
#pragma once

#include "halftone/cli/training_options.h"

namespace halftone::cli {

/// @throws Error as train_file(); kInterrupted if a signal ended the training
void run_train(const TrainArguments& options, const Machine& machine);
/// @throws Error as distill_files(); kInterrupted if a signal ended the training
void run_distill(const DistillArguments& options, const Machine& machine);

}  // namespace halftone::cli
