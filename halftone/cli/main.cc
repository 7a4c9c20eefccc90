// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

#include "halftone/base/error.h"
#include "halftone/cli/program.h"
#include "halftone/cli/trainer.h"
#include "halftone/cli/training_options.h"
#include "halftone/cli/verb_texts.h"

namespace halftone::cli {
namespace {

bool is_of_trainer(std::string_view verb) { return verb == "distill" || verb == "train"; }

[[noreturn]] void fail_without_trainer(const std::string& verb) {
  std::error_code error;
  const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
  fail(ErrorKind::kUnsupported, verb + " needs the program " + kTrainer +
                                    ", and there is none in " + self.parent_path().string() +
                                    ": build it with libtorch ('make train')");
}

/// The verbs that train, with their help; without the trainer nothing else.
void add_training_verbs(CLI::App& app, Action& action) {
  add_distill(app, action, [](const auto&, const auto&) { fail_without_trainer("distill"); });
  add_train(app, action, [](const auto&, const auto&) { fail_without_trainer("train"); });
}

void add_texts(CLI::App& app, Action& /*action*/) { add_text_options(app); }

constexpr std::array<AddVerb, 20> kVerbs = {
    add_inspect,        add_convert,  add_export,   add_quantize, add_sensitivity,
    add_training_verbs, add_eval,     add_crossbar, add_run,      add_bench,
    add_report,         add_generate, add_chat,     add_embed,    add_serve,
    add_systems,        add_devices,  add_estimate, add_explore,  add_texts};

int main_with(int argc, char** argv) {
  try {
    if (argc > 1 && is_of_trainer(argv[1])) start_trainer(argv);
  } catch (const Error& error) {
    return report_error(error.what(), exit_code(error.kind()));
  }
  return run_program(argc, argv, kVerbs);
}

}  // namespace
}  // namespace halftone::cli

int main(int argc, char** argv) { return halftone::cli::main_with(argc, argv); }
