// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "halftone/base/error.h"
#include "halftone/cli/program.h"
#include "halftone/cli/training_options.h"

namespace halftone::cli {
namespace {

constexpr const char* kTrainer = "halftone-train";

bool is_of_trainer(std::string_view verb) { return verb == "distill" || verb == "train"; }

std::filesystem::path own_folder(std::error_code& error) {
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path();
}

/// Runs the verbs that train in a separate program in the same directory: loading libtorch takes
/// longer than most other verbs run. Returns only if that program cannot be started.
void start_trainer(char** argv) {
  std::error_code error;
  const std::string trainer = (own_folder(error) / kTrainer).string();
  if (!error) execv(trainer.c_str(), argv);
}

[[noreturn]] void fail_without_trainer(const std::string& verb) {
  std::error_code error;
  fail(ErrorKind::kUnsupported, verb + " needs the program " + kTrainer +
                                    ", and there is none in " + own_folder(error).string() +
                                    ": build it with libtorch ('make train')");
}

/// The verbs that train, with their help; without the trainer nothing else.
void add_training_verbs(CLI::App& app, Action& action) {
  add_distill(app, action, [](const auto&, const auto&) { fail_without_trainer("distill"); });
  add_train(app, action, [](const auto&, const auto&) { fail_without_trainer("train"); });
}

constexpr std::array<AddVerb, 7> kVerbs = {
    add_inspect, add_convert, add_quantize, add_training_verbs, add_eval, add_run, add_bench};

int main_with(int argc, char** argv) {
  if (argc > 1 && is_of_trainer(argv[1])) start_trainer(argv);
  return run_program(argc, argv, kVerbs);
}

}  // namespace
}  // namespace halftone::cli

int main(int argc, char** argv) { return halftone::cli::main_with(argc, argv); }
