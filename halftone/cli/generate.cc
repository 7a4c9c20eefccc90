// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>

#include "halftone/api/option_fields.h"
#include "halftone/api/text_generation.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/language.h"

namespace halftone::cli {
namespace {

struct GenerateVerbOptions {
  CommonOptions common;
  LanguageOptions language;
  std::optional<std::string> prompt;
  std::string file;
  v0::GenerateOptions generation;
};

std::string prompt_of(const GenerateVerbOptions& options) {
  if (options.prompt.has_value() == !options.file.empty())
    fail(ErrorKind::kUsage, "expected a prompt: either --prompt or --file");
  if (options.prompt) return *options.prompt;
  if (options.file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<std::byte> bytes = read_file(options.file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

void run(const GenerateVerbOptions& options, const Machine& machine) {
  if (!machine.is_first()) return;
  apply(options.common);
  const std::string prompt = prompt_of(options);
  v0::GenerateOptions generation = options.generation;
  generation.sampling.seed = options.common.seed;
  OpenOptions open = options.language.open;
  open.on_device = device_output(options.common, machine);
  TextModel model = TextModel::open(options.language.model, open);
  Progress(options.common, machine).print_warnings(model.warnings());
  const Interruption interruption;
  const lm::Generation found =
      generate_text(model, prompt, generation, token_output(options.common.json));
  if (options.common.json) {
    std::cout << report::to_json(found);
  } else {
    if (!found.text.ends_with('\n')) std::cout << "\n";
    Progress(options.common, machine).print_line(report::to_line(found));
  }
  if (found.begins_twice) {
    Progress(options.common, machine)
        .print_line(
            "warning: the prompt begins with two tokens that begin a text: its own, and the "
            "one that the model adds; leave yours out");
  }
  if (found.end == v0::End::kInterrupted)
    fail(ErrorKind::kInterrupted, "the generation was stopped");
}

}  // namespace

void add_generate(CLI::App& app, Action& action) {
  const auto options = std::make_shared<GenerateVerbOptions>();
  CLI::App* verb =
      add_verb(app, "generate", "Continue a text with a language model",
               "halftone generate model.gguf -p \"Once upon a time\" -n 64", options->common);
  add_language_options(*verb, options->language);
  CLI::Option* prompt = verb->add_option("-p,--prompt", options->prompt,
                                         "Text to continue, which is not printed again");
  verb->add_option("-f,--file", options->file, "File with the text; -: standard input")
      ->check(read_path())
      ->excludes(prompt);
  add_generate_options(*verb, options->generation);
  add_field(*verb, *find_field(fields_of(options->generation), "control"));
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
