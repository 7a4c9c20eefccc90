// SPDX-License-Identifier: Apache-2.0
// The options of the verb distill that are about language models.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <string_view>

#include "halftone/api/option_fields.h"
#include "halftone/base/error.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/training_options.h"

namespace halftone::cli {
namespace {

/// Options of networks that language models have too.
constexpr std::array<std::string_view, 10> kSharedOptions = {
    "--teacher", "--student", "--output", "--learning-rate", "--batch",
    "--threads", "--seed",    "--simd",   "--quiet",         "--json"};

}  // namespace

CLI::Option* add_language_distill_options(CLI::App& verb, LanguageDistillJob& job) {
  CLI::Option* text =
      verb.add_option(
              "--text", job.texts,
              "Text in UTF-8 from which a language model learns; several may be given. "
              "--batch is then 4 by default, --learning-rate 0.003 times the square root of "
              "the divergence before the first step, or of 1 if that is less")
          ->check(read_path());
  const Fields fields = fields_of(static_cast<v0::LanguageDistillOptions&>(job));
  for (const Field& field : fields) {
    if (verb.get_option_no_throw(field.option_name()) == nullptr) {
      add_field(verb, field)->needs(text);
    }
  }
  option_of(verb, fields, "second_text")->check(read_path());
  option_of(verb, fields, "state")->check(written_path());
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
