// SPDX-License-Identifier: Apache-2.0
// Verbs of the program halftone-train.
#pragma once

#include "halftone/cli/command.h"

namespace halftone::cli {

void add_distill(CLI::App& app, Action& action);
void add_train(CLI::App& app, Action& action);

}  // namespace halftone::cli
