// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/language_options.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>
#include <fstream>
#include <iostream>
#include <system_error>

#include "halftone/api/option_fields.h"
#include "halftone/base/printable.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/interruption.h"
#include "halftone/cli/one_of.h"

namespace halftone::cli {
namespace {

void write(std::string_view text, bool is_terminal) {
  while (is_terminal && !text.empty()) {
    const std::size_t tab = std::min(text.find('\t'), text.size());
    std::cout << printable(text.substr(0, tab)) << (tab < text.size() ? "\t" : "");
    text.remove_prefix(std::min(tab + 1, text.size()));
  }
  std::cout << text << std::flush;
}

}  // namespace

std::vector<std::string> lines_of(const std::string& file) {
  constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
  std::vector<std::string> lines;
  std::ifstream stream(file);
  for (std::string line; std::getline(stream, line);) {
    if (lines.empty() && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    if (line.ends_with('\r')) line.pop_back();
    lines.push_back(std::move(line));
  }
  if (!stream.is_open() || stream.bad()) fail(ErrorKind::kIo, file + ": cannot be read");
  return lines;
}

std::vector<CLI::Option*> add_open_fields(CLI::App& verb, OpenOptions& open,
                                          std::initializer_list<std::string_view> names) {
  const Fields fields = fields_of(static_cast<v0::LanguageModelOptions&>(open));
  std::vector<CLI::Option*> options;
  for (const std::string_view name : names) {
    options.push_back(add_field(verb, *find_field(fields, name)));
    if (name == "tokenizer" || name == "lora" || name == "draft") {
      options.back()->check(read_path());
    }
  }
  return options;
}

std::function<void(const std::string&)> device_output(const CommonOptions& common,
                                                      const Machine& machine) {
  return [&](const std::string& line) { Progress(common, machine).print_line(line); };
}

bool follows(const std::filesystem::path& model, OpenOptions open, const CommonOptions& common,
             const Machine& machine) {
  if (machine.is_first()) return false;
  apply(common);
  open.ranks = machine.ranks();
  const Interruption interruption;  // the first rank says when to end
  follow_model(model, open);
  return true;
}

CalibrationOptions add_calibration_options(CLI::App& verb,
                                           std::vector<std::filesystem::path>& texts,
                                           bool& is_synthetic, const std::string& use) {
  CalibrationOptions options;
  options.text =
      verb.add_option("--text", texts, "Text in UTF-8 to " + use + "; several may be given")
          ->check(read_path());
  options.synthetic =
      verb.add_option_function<std::string>(
              "--calibrate", [&is_synthetic](const std::string&) { is_synthetic = true; },
              "synthetic: instead of --text, " + use + " samples that it writes itself")
          ->check(OneOf(std::vector<std::string>{"synthetic"}))
          ->excludes(options.text);
  return options;
}

void add_fit_fields(CLI::App& verb, const Fields& fields,
                    std::initializer_list<std::string_view> without) {
  for (const Field& field : fields) {
    const bool is_elsewhere = field.name == "synthetic" || field.name == "seed";
    if (is_elsewhere || std::ranges::count(without, field.name) > 0) continue;
    CLI::Option* option = add_field(verb, field);
    if (field.name == "tokenizer") option->check(read_path());
    if (field.name == "state" || field.name == "recipe_output") option->check(written_path());
  }
}

namespace {

/// Of "15043=-100". @throws CLI::ValidationError
v0::LogitBias bias_of(const std::string& text) {
  v0::LogitBias bias;
  const std::size_t at = std::min(text.find('='), text.size());
  const char* end = text.data() + text.size();
  const auto token = std::from_chars(text.data(), text.data() + at, bias.token);
  const auto number = std::from_chars(std::min(text.data() + at + 1, end), end, bias.bias);
  const bool is_good = token.ec == std::errc() && token.ptr == text.data() + at &&
                       bias.token >= 0 && number.ec == std::errc() && number.ptr == end &&
                       std::isfinite(bias.bias);
  if (is_good) return bias;
  throw CLI::ValidationError("--logit-bias",
                             "expected TOKEN=NUMBER, as in 15043=-100, found '" + text + "'");
}

}  // namespace

void add_language_options(CLI::App& verb, LanguageOptions& options) {
  add_text_model_options(verb, options);
  add_open_fields(verb, options.open, {"draft", "device"});
}

void add_text_model_options(CLI::App& verb, LanguageOptions& options) {
  verb.add_option("model", options.model, kLanguageModelText)->required()->check(read_path());
  add_open_fields(verb, options.open,
                  {"tokenizer", "context", "cache", "lora", "bits", "float_activations"});
}

void add_generate_options(CLI::App& verb, v0::GenerateOptions& options) {
  add_fields(verb, fields_of(options), {"seed", "sequence", "control"});
  verb.add_option("--stop", options.stops, "End in front of this text; repeatable")
      ->allow_extra_args(false);
  verb.add_option_function<std::vector<std::string>>(
          "--logit-bias",
          [&options](const std::vector<std::string>& all) {
            for (const std::string& each : all)
              options.sampling.logit_bias.push_back(bias_of(each));
          },
          "TOKEN=NUMBER, which is added to the logit of the token with this id; repeatable")
      ->allow_extra_args(false);
}

std::function<bool(lm::TokenId, std::string_view)> token_output(bool quiet) {
  const bool is_terminal = ::isatty(STDOUT_FILENO) == 1;
  return [quiet, is_terminal](lm::TokenId /*token*/, std::string_view text) {
    if (!quiet && !text.empty()) write(text, is_terminal);
    return !Interruption::is_wanted();
  };
}

}  // namespace halftone::cli
