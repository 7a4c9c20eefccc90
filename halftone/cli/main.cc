// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "halftone/cli/program.h"

namespace halftone::cli {
namespace {

constexpr const char* kTrainer = "halftone-train";

/// Lists the verbs of the other program in the help text; start_trainer() runs them.
void add_elsewhere(CLI::App& app, Action& /*action*/) {
  app.add_subcommand("distill", "Train a network in few bits on a teacher's answers");
  app.add_subcommand("train", "Train a float network on labels, from its graph alone");
}

bool is_of_trainer(std::string_view verb) { return verb == "distill" || verb == "train"; }

/// Runs the verbs that train in a separate program in the same directory: loading libtorch takes
/// longer than most other verbs run. Returns only if that program cannot be started.
int start_trainer(char** argv) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::string trainer = (self.parent_path() / kTrainer).string();
  if (!error) execv(trainer.c_str(), argv);
  return report_error(std::string(argv[1]) + " needs the program " + kTrainer + " in " +
                          self.parent_path().string() +
                          ", where it is not: build it with libtorch ('make train')",
                      exit_code(ErrorKind::kUnsupported));
}

constexpr std::array<AddVerb, 7> kVerbs = {add_inspect, add_convert, add_quantize, add_elsewhere,
                                           add_eval,    add_run,     add_bench};

int main_with(int argc, char** argv) {
  if (argc > 1 && is_of_trainer(argv[1])) return start_trainer(argv);
  return run_program(argc, argv, kVerbs);
}

}  // namespace
}  // namespace halftone::cli

int main(int argc, char** argv) { return halftone::cli::main_with(argc, argv); }
