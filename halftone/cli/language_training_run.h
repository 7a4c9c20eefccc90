// SPDX-License-Identifier: Apache-2.0
// Runs the verb distill for a language model.
#pragma once

#include "halftone/cli/training_options.h"

namespace halftone::cli {

/// @throws Error kUsage for several teachers; kInterrupted if a signal ended the run; as
///         distill_language_model()
void run_language_distill(const DistillArguments& options, const Machine& machine);

}  // namespace halftone::cli
