// SPDX-License-Identifier: Apache-2.0
// Every option of every verb that takes a path says whether it is read or written, and no verb
// takes one file for both.
#include "halftone/cli/option_files.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <set>
#include <vector>

#include "halftone/base/file.h"
#include "halftone/base/testing.h"
#include "halftone/cli/command.h"
#include "halftone/cli/training_options.h"
#include "halftone/cli/verb_texts.h"

namespace halftone::cli {
namespace {

namespace fs = std::filesystem;

/// Options whose value is a text and no path. A new option belongs here, or is checked with
/// read_path() or written_path().
const std::set<std::string> kTexts = {"--simd",
                                      "--shape",
                                      "--space",
                                      "--budget",
                                      "--nested",
                                      "--choices",
                                      "--grammar",
                                      "--json-schema",
                                      "--regex",
                                      "--prompt",
                                      "--device",
                                      "--stop",
                                      "--system",
                                      "--logit-bias",
                                      "--template",
                                      "--precision",
                                      "--tie",
                                      "--gradient-format",
                                      "--feature",
                                      "--stages",
                                      "--type",
                                      "--tensor",
                                      "--table-type",
                                      "--scheme",
                                      "--weight-scheme",
                                      "--activation-scheme",
                                      "--product",
                                      "name",
                                      "--activation-bits"};

/// The options of all verbs, without values.
class Verbs : public WithFolder {
 protected:
  Verbs() {
    for (const auto add :
         {add_inspect, add_systems, add_devices, add_estimate, add_explore, add_convert, add_export,
          add_quantize, add_sensitivity, add_eval, add_crossbar, add_run, add_bench, add_report,
          add_generate, add_chat, add_embed}) {
      add(app_, action_);
    }
    add_train(app_, action_, [](const auto&, const auto&) {});
    add_distill(app_, action_, [](const auto&, const auto&) {});
  }

  [[nodiscard]] std::vector<CLI::App*> verbs() { return app_.get_subcommands({}); }

  /// The options of a verb with this role.
  static std::vector<CLI::Option*> options(CLI::App& verb, FileRole role) {
    std::vector<CLI::Option*> found;
    for (CLI::Option* option : verb.get_options()) {
      if (file_role(*option) == role) found.push_back(option);
    }
    return found;
  }

  /// What a run of the verb writes if the option has this path.
  static std::string output_of(const CLI::App& verb, const CLI::Option& option,
                               const std::string& path) {
    if (option.get_name() == "--overlay") return overlay_file(path, "bytes");
    return verb.get_name() == "run" ? "" : path;
  }

  static void give(CLI::Option& option, const std::string& value) {
    option.clear();
    option.add_result(value);
  }

  CLI::App app_{"", "halftone"};
  Action action_;
};

TEST_F(Verbs, DeclareARoleForEveryPath) {
  const std::set<std::string> paths = {"FILE", "FOLDER", "SAMPLES", "HARDWARE", "DEVICE"};
  for (CLI::App* verb : verbs()) {
    for (CLI::Option* option : verb->get_options()) {
      const std::string type = option->get_type_name();
      const bool is_text = type == "TEXT" || type == "SYSTEM" || type == "LIMITS";
      const bool is_path = paths.contains(type.substr(type.find(':') + 1));
      const bool has_role = file_role(*option) != FileRole::kNone;
      const std::string where = verb->get_name() + " " + option->get_name() + ": " + type;
      if (is_path) {
        EXPECT_TRUE(has_role) << where << ": check it with read_path()";
      }
      if (is_text && !has_role) {
        EXPECT_TRUE(kTexts.contains(option->get_name())) << where << ": a path, or one of kTexts?";
      }
    }
  }
}

TEST_F(Verbs, RefuseOutputsThatAreInputs) {
  std::size_t pairs = 0;
  for (CLI::App* verb : verbs()) {
    for (CLI::Option* output : options(*verb, FileRole::kWritten)) {
      const std::string written = output_of(*verb, *output, path("m.out"));
      if (written.empty()) continue;
      write_file(written, "input");
      fs::remove(path("link"));
      fs::create_symlink(written, path("link"));
      for (CLI::Option* input : options(*verb, FileRole::kRead)) {
        give(*output, path("m.out"));
        give(*input, path("link"));
        expect_error(ErrorKind::kUsage,
                     ": is the file to read (" + input->get_name() + ") and the file to write (" +
                         output->get_name() + "): name another file to write",
                     [&] { check_option_files(*verb); });
        input->clear();
        ++pairs;
      }
      output->clear();
    }
  }
  EXPECT_GT(pairs, 100U);
}

TEST_F(Verbs, RefuseTwoOutputsOfOneName) {
  for (CLI::App* verb : verbs()) {
    const std::vector<CLI::Option*> outputs = options(*verb, FileRole::kWritten);
    for (std::size_t i = 0; i < outputs.size(); ++i) {
      for (std::size_t j = 0; j < i; ++j) {
        const std::string first = output_of(*verb, *outputs[j], path("new"));
        give(*outputs[j], path("new"));
        give(*outputs[i], outputs[j]->get_name() == "--overlay" ? first : path("./new"));
        if (outputs[i]->get_name() == "--overlay") give(*outputs[j], path("new-us"));
        expect_error(ErrorKind::kUsage, ": is the file to write (",
                     [&] { check_option_files(*verb); });
        outputs[j]->clear();
        outputs[i]->clear();
      }
    }
  }
}

TEST_F(Verbs, KnowTheFilesBesideOutputs) {
  for (const auto& [name, option, path_of_option, beside] : std::vector<std::array<std::string, 4>>{
           {"train", "--checkpoint", "run.state", "run.csv"},
           {"distill", "--checkpoint", "run.state", "run.svg"},
           {"report", "--overlay", "o.json", "o-sqnr-alone.json"}}) {
    CLI::App* verb = app_.get_subcommand(name);
    write_file(path(beside), "input");
    give(*verb->get_option(option), path(path_of_option));
    give(*verb->get_option("--data"), path(beside));
    expect_error(ErrorKind::kUsage, beside + ": is the file to read (--data)",
                 [&] { check_option_files(*verb); });
  }
  CLI::App* eval = app_.get_subcommand("eval");
  write_file(path("s.2"), "text");
  give(*eval->get_option("--state"), path("s"));
  eval->get_option("--text")->add_result(path("t"));
  eval->get_option("--text")->add_result(path("s.2"));
  expect_error(ErrorKind::kUsage, "s.2: is the file to read (--text)",
               [&] { check_option_files(*eval); });
}

TEST_F(Verbs, FindInputsInTextsThatNameFiles) {
  CLI::App* verb = app_.get_subcommand("convert");
  write_file(path("x.npy"), "input");
  give(*verb->get_option("output"), path("x.npy"));
  give(*verb->get_option("--constant"), "sr=" + path("x.npy"));
  expect_error(ErrorKind::kUsage, "x.npy: is the file to read (--constant)",
               [&] { check_option_files(*verb); });
}

}  // namespace
}  // namespace halftone::cli
