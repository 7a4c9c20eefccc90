// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "halftone/api/batch_generation.h"
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
  std::string batch_file;
  std::string output;  ///< of a batch; empty: standard output
};

std::string prompt_of(const GenerateVerbOptions& options) {
  if (options.prompt.has_value() == !options.file.empty())
    fail(ErrorKind::kUsage, "expected a prompt: either --prompt or --file");
  if (options.prompt) return *options.prompt;
  if (options.file == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  const std::vector<std::byte> bytes = read_file(options.file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TextModel open_model(const GenerateVerbOptions& options, std::size_t sequences,
                     const Machine& machine) {
  OpenOptions open = options.language.open;
  open.on_device = device_output(options.common, machine);
  open.sequences = sequences;
  open.ranks = machine.ranks();
  TextModel model = TextModel::open(options.language.model, open);
  Progress(options.common, machine).print_warnings(model.warnings());
  return model;
}

/// Appends answers to the file, or writes them to standard output.
void run_batch(const GenerateVerbOptions& options, const Machine& machine) {
  BatchOptions batch{options.generation};
  batch.generate.sampling.seed = options.common.seed;
  batch.goes_on = [] { return !Interruption::is_wanted(); };
  const std::vector<std::string> lines = lines_of(options.batch_file);
  if (!options.output.empty()) batch.first = resume_answers(options.output);
  std::ofstream file;
  if (!options.output.empty()) file.open(options.output, std::ios::app);
  std::ostream& out = options.output.empty() ? std::cout : file;
  TextModel model = open_model(options, options.language.open.sequences, machine);
  const Interruption interruption;
  std::size_t answers = 0;
  std::size_t failures = 0;
  std::optional<Error> first_error;
  generate_batch(model, lines, batch, [&](const BatchAnswer& answer) {
    out << report::to_json_line(answer) << std::flush;
    if (!out) fail(ErrorKind::kIo, options.output + ": cannot be written");
    ++answers;
    if (answer.error && failures++ == 0) first_error = answer.error;
  });
  if (first_error) {
    fail(first_error->kind(), std::to_string(failures) + " of " + std::to_string(answers) +
                                  " lines failed, the first with: " + first_error->what());
  }
}

void run(const GenerateVerbOptions& options, const Machine& machine) {
  OpenOptions open = options.language.open;
  if (options.batch_file.empty()) open.sequences = 1;
  if (follows(options.language.model, open, options.common, machine)) return;
  apply(options.common);
  if (!options.batch_file.empty()) return run_batch(options, machine);
  const std::string prompt = prompt_of(options);
  v0::GenerateOptions generation = options.generation;
  generation.sampling.seed = options.common.seed;
  TextModel model = open_model(options, 1, machine);
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
  CLI::Option* file =
      verb->add_option("-f,--file", options->file, "File with the text; -: standard input")
          ->check(read_path())
          ->excludes(prompt);
  CLI::Option* batch =
      verb->add_option("--batch-file", options->batch_file,
                       "Many texts: a file with a request in JSON in each line, such as "
                       "{\"prompt\": \"Once\", \"seed\": 3} or {\"messages\": [...]}; answers are "
                       "lines of JSON too, in the same order")
          ->check(read_path())
          ->excludes(prompt)
          ->excludes(file);
  verb->add_option("-o,--output", options->output,
                   "File for the answers to --batch-file; those that it has already are kept, so "
                   "that a run that was stopped goes on")
      ->check(written_path())
      ->needs(batch);
  options->language.open.sequences = 8;
  add_open_fields(*verb, options->language.open, {"sequences"})[0]
      ->description("Texts of --batch-file that are written together, each in memory of its own")
      ->needs(batch);
  add_generate_options(*verb, options->generation);
  add_field(*verb, *find_field(fields_of(options->generation), "control"));
  verb->final_callback([options, &action] {
    action = [options](const Machine& machine) { run(*options, machine); };
  });
}

}  // namespace halftone::cli
