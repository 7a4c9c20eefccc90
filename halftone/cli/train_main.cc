// SPDX-License-Identifier: Apache-2.0
// The verbs that train. `halftone VERB` starts this program.
#include <array>

#include "halftone/cli/program.h"
#include "halftone/cli/training.h"

int main(int argc, char** argv) {
  constexpr std::array<halftone::cli::AddVerb, 2> kVerbs = {halftone::cli::add_distill,
                                                            halftone::cli::add_train};
  return halftone::cli::run_program(argc, argv, kVerbs);
}
