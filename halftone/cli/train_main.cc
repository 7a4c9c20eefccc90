// SPDX-License-Identifier: Apache-2.0
// The verbs that train. `halftone VERB` starts this program.
#include <CLI/CLI.hpp>
#include <array>

#include "halftone/cli/program.h"
#include "halftone/cli/training_run.h"

int main(int argc, char** argv) {
  using halftone::cli::Action;
  constexpr std::array<halftone::cli::AddVerb, 2> kVerbs = {
      [](CLI::App& app, Action& action) { add_distill(app, action, halftone::cli::run_distill); },
      [](CLI::App& app, Action& action) { add_train(app, action, halftone::cli::run_train); }};
  return halftone::cli::run_program(argc, argv, kVerbs);
}
