// SPDX-License-Identifier: Apache-2.0
// The verbs that train. `halftone VERB` starts this program.
#include <array>

#include "halftone/cli/program.h"
#include "halftone/cli/training.h"

int main(int argc, char** argv) {
  using namespace halftone::cli;
  constexpr std::array<AddVerb, 1> kVerbs = {add_distill};
  return run_program(argc, argv, kVerbs);
}
