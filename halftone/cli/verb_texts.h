// SPDX-License-Identifier: Apache-2.0
// The command line as data: what the help, the manual pages and the completion of shells show.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

namespace halftone::cli {

/// An option, or an argument without a name before it.
struct OptionText {
  std::vector<std::string> names;  ///< "-o", "--output"; an argument has one: "model"
  bool is_option = true;
  std::string value;               ///< what it takes: "FILE", "{train,test}"; empty: nothing
  std::vector<std::string> words;  ///< values to offer; with files, not all there are
  bool takes_files = false;
  bool takes_folders = false;
  std::string default_value;
  std::vector<std::string> needs;  ///< other options
  bool is_required = false;
  bool repeats = false;
  std::string description;
};

struct VerbText {
  std::string name;
  std::string description;
  std::vector<std::string> examples;  ///< command lines
  std::vector<OptionText> options;    ///< those that the help shows
};

struct ProgramText {
  VerbText program;  ///< its own options
  std::vector<VerbText> verbs;
};

/// What the program and its verbs declare, in the order of the help.
ProgramText describe(const CLI::App& app);

/// Has the help show the values of options by one name: "{train,test}" in place of
/// "TEXT:{train,test}". Verbs that are added later inherit this.
void shorten_value_names(CLI::App& app);

/// Declares --completion, which prints the completion of a shell, and --man-pages, which writes the
/// manual. Both describe what `app` declares when they run.
void add_text_options(CLI::App& app);

}  // namespace halftone::cli
