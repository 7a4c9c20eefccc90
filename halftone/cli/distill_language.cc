// SPDX-License-Identifier: Apache-2.0
// The options of the verb distill that are about language models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "halftone/base/error.h"
#include "halftone/cli/training_options.h"

namespace halftone::cli {
namespace {

/// Options of networks that language models have too.
constexpr std::array<std::string_view, 10> kSharedOptions = {
    "--teacher", "--student", "--output", "--learning-rate", "--batch",
    "--threads", "--seed",    "--simd",   "--quiet",         "--json"};

void add_tuning_options(CLI::App& verb, LanguageDistillArguments& options, CLI::Option* text) {
  train::TuneOptions& tune = options.job.options;
  verb.add_option("--steps", tune.steps, "Steps of tuning, of --batch samples each")
      ->check(whole_from(1))
      ->capture_default_str()
      ->needs(text);
  verb.add_option("--basis-rate-factor", tune.basis_rate,
                  "Learning rate of vector bases is --learning-rate times this; 0: they stay")
      ->check(non_negative_number())
      ->capture_default_str()
      ->needs(text);
  verb.add_option("--minutes", tune.minutes,
                  "Stop after so many minutes, with the best state so far; more steps follow with "
                  "--state")
      ->check(positive_number())
      ->needs(text);
  verb.add_option("--state", options.state,
                  "File for the state of the run, from which it goes on if the file exists")
      ->check(written_path())
      ->needs(text);
}

}  // namespace

CLI::Option* add_language_distill_options(CLI::App& verb, LanguageDistillArguments& options) {
  LanguageDistillJob& job = options.job;
  CLI::Option* text =
      verb.add_option(
              "--text", job.texts,
              "Text in UTF-8 from which a language model learns; several may be given. "
              "--batch is then 4 by default, --learning-rate 0.003 times the square root of "
              "the divergence before the first step, or of 1 if that is less")
          ->check(read_path());
  verb.add_option("--second-text", job.second_text,
                  "Text of another domain, which is measured before and after")
      ->check(read_path())
      ->needs(text);
  verb.add_option("--sample-tokens", job.sample_tokens, "Tokens of a sample")
      ->check(whole_from(2))
      ->capture_default_str()
      ->needs(text);
  verb.add_option("--held-out", job.held_out,
                  "Samples of the texts to judge by, from which the model does not learn")
      ->check(whole_from(1))
      ->capture_default_str()
      ->needs(text);
  add_tuning_options(verb, options, text);
  return text;
}

void check_language_distill_options(const CLI::App& verb) {
  const CLI::Option* text = verb.get_option("--text");
  for (const CLI::Option* option : verb.get_options()) {
    const std::string name = option->get_name();
    const bool is_for_text =
        option == text || option->get_needs().contains(const_cast<CLI::Option*>(text));
    const bool is_shared = std::ranges::count(kSharedOptions, name) != 0;
    if (option->empty() || is_for_text || is_shared) continue;
    fail(ErrorKind::kUsage, name + ": not for language models");
  }
}

}  // namespace halftone::cli
