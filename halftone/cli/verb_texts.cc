// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/verb_texts.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string_view>
#include <utility>

#include "halftone/accel/accelerator.h"
#include "halftone/accel/crossbar/device.h"
#include "halftone/api/number_systems.h"
#include "halftone/base/file.h"
#include "halftone/cli/command.h"
#include "halftone/cli/manual_pages.h"
#include "halftone/cli/one_of.h"
#include "halftone/cli/shell_completion.h"

namespace halftone::cli {
namespace {

constexpr std::string_view kExample = "Example: ";

std::string without_spaces_around(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \n");
  if (begin == std::string_view::npos) return "";
  return std::string(text.substr(begin, text.find_last_not_of(" \n") + 1 - begin));
}

/// The parts between separators, without the spaces around them and without empty ones.
std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, separator);) {
    part = without_spaces_around(part);
    if (!part.empty()) parts.push_back(std::move(part));
  }
  return parts;
}

/// CLI11 puts the type of the variable before what the check says of the value: "TEXT:FILE".
std::string value_name(const CLI::Option& option) {
  if (option.get_type_size() == 0) return "";
  const std::string name = option.get_type_name();
  const std::size_t colon = name.find(':');
  return colon == std::string::npos ? name : name.substr(colon + 1);
}

/// The words to offer for a value of this name.
std::vector<std::string> words_of(const std::string& value) {
  std::vector<std::string> words;
  if (value.starts_with('{') && value.ends_with('}')) {
    words = split(value.substr(1, value.size() - 2), ',');
    // "1 to 16" is not a word.
    std::erase_if(words, [](const std::string& word) { return word.find(' ') != word.npos; });
  } else if (value == "SYSTEM") {
    for (NumberSystemInfo& system : list_number_systems()) words.push_back(std::move(system.name));
  } else if (value == "HARDWARE") {
    words = accel::shipped_accelerators();
  } else if (value == "DEVICE") {
    for (const std::string_view name : crossbar::device_names()) words.emplace_back(name);
  }
  return words;
}

bool takes_files(const std::string& value) {
  constexpr std::array<std::string_view, 4> kFiles = {"FILE", "SAMPLES", "HARDWARE", "DEVICE"};
  return std::ranges::find(kFiles, value) != kFiles.end();
}

std::vector<std::string> names_of(const CLI::Option& option) {
  if (option.get_positional()) return {option.get_name(true)};
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

OptionText describe_option(const CLI::Option& option) {
  OptionText text;
  text.names = names_of(option);
  text.is_option = !option.get_positional();
  text.value = value_name(option);
  text.words = words_of(text.value);
  text.takes_files = takes_files(text.value);
  text.takes_folders = text.value == "FOLDER";
  text.default_value = text.value.empty() ? "" : option.get_default_str();
  for (const CLI::Option* needed : option.get_needs()) text.needs.push_back(needed->get_name());
  std::ranges::sort(text.needs);  // CLI11 keeps them by address
  text.is_required = option.get_required();
  text.repeats = option.get_expected_max() == CLI::detail::expected_max_vector_size;
  text.description = option.get_description();
  return text;
}

VerbText describe_verb(const CLI::App& verb) {
  VerbText text{verb.get_name(), verb.get_description(), {}, {}};
  const std::string footer = without_spaces_around(verb.get_footer());
  if (footer.starts_with(kExample)) text.examples = split(footer.substr(kExample.size()), '\n');
  for (const CLI::Option* option : verb.get_options()) {
    if (!option->get_group().empty()) text.options.push_back(describe_option(*option));
  }
  return text;
}

class HelpFormatter : public CLI::Formatter {
 public:
  /// CLI11 puts {false} behind the name of a flag that clears a variable.
  std::string make_option_name(const CLI::Option* option, bool is_positional) const override {
    if (is_positional) return CLI::Formatter::make_option_name(option, is_positional);
    std::string text;
    for (const std::string& name : names_of(*option)) text += (text.empty() ? "" : ",") + name;
    return text;
  }
  std::string make_option_opts(const CLI::Option* option) const override {
    const OptionText text = describe_option(*option);
    std::string opts;
    if (!text.value.empty()) opts += " " + text.value;
    if (!text.default_value.empty()) opts += "=" + text.default_value;
    if (text.repeats) opts += " ...";
    if (text.is_required) opts += " REQUIRED";
    if (!text.needs.empty()) opts += " Needs:";
    for (const std::string& needed : text.needs) opts += " " + needed;
    return opts;
  }
};

}  // namespace

ProgramText describe(const CLI::App& app) {
  ProgramText text{describe_verb(app), {}};
  for (const CLI::App* verb : app.get_subcommands({})) text.verbs.push_back(describe_verb(*verb));
  return text;
}

void shorten_value_names(CLI::App& app) { app.formatter(std::make_shared<HelpFormatter>()); }

void add_text_options(CLI::App& app) {
  const auto print_completion = [&app](const std::string& shell) {
    const ProgramText text = describe(app);
    std::string script = shell == "bash" ? bash_completion(text) : zsh_completion(text);
    script.pop_back();
    // CLI11 prints the text of this exception, with a line feed after it.
    throw CLI::CallForVersion(std::move(script), 0);
  };
  app.add_option_function<std::string>("--completion", print_completion,
                                       "Print the completion of a shell, which reads it")
      ->check(OneOf({"bash", "zsh"}));
  const auto write_pages = [&app](const std::string& folder) {
    NewFiles files;
    for (const ManualPage& page : manual_pages(describe(app), HALFTONE_VERSION)) {
      files.add(std::filesystem::path(folder) / page.file, page.text);
    }
    files.finish();
    throw CLI::Success();
  };
  app.add_option_function<std::string>("--man-pages", write_pages,
                                       "Write a manual page of the program and of each verb")
      ->check(written_path("FOLDER"));
}

}  // namespace halftone::cli
