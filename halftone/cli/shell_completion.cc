// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/shell_completion.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <string_view>
#include <utility>
#include <vector>

namespace halftone::cli {
namespace {

// In both scripts <file> and <folder> represent names of the file system.
constexpr std::string_view kFileName = "<file>";
constexpr std::string_view kFolder = "<folder>";

constexpr std::string_view kBashBegin = R"bash(# Completion of bash for halftone, written by
# `halftone --completion bash`.

# The options of a verb; without one, of the program.
_halftone_names() {
  case $1 in
)bash";

constexpr std::string_view kBashValues = R"bash(  esac
}

# The values of an option, as VERB:OPTION, or what stands without one, as VERB:. Fails for options that
# take no value.
_halftone_values() {
  case $1 in
)bash";

constexpr std::string_view kBashEnd = R"bash(    *) return 1 ;;
  esac
}

_halftone_reply() { # VALUES CURRENT
  local value words=
  COMPREPLY=()
  for value in $1; do
    case $value in
      '<file>') mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -f -- "$2") ;;
      '<folder>') mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -d -- "$2") ;;
      *) words+=" $value" ;;
    esac
  done
  # readline marks folders and quotes names if it is told that these are of files.
  if [[ $1 == *'<'* ]]; then compopt -o filenames 2> /dev/null; fi
  mapfile -t -O "${#COMPREPLY[@]}" COMPREPLY < <(compgen -W "$words" -- "$2")
}

_halftone() {
  local current=${COMP_WORDS[COMP_CWORD]} option=${COMP_WORDS[COMP_CWORD - 1]} verb='' values i
  for ((i = 1; i < COMP_CWORD; ++i)); do
    if [[ ${COMP_WORDS[i]} != -* ]]; then
      verb=${COMP_WORDS[i]}
      break
    fi
  done
  # bash takes the = of --option=value for a word.
  if [[ $current == = ]]; then
    current=''
  elif [[ $option == = ]]; then
    option=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  if [[ $option == -* ]] && values=$(_halftone_values "$verb:$option"); then
    _halftone_reply "$values" "$current"
  elif [[ $current == -* ]]; then
    _halftone_reply "$(_halftone_names "$verb")" "$current"
  else
    _halftone_reply "$(_halftone_values "$verb:")" "$current"
  fi
}
complete -F _halftone halftone
)bash";

constexpr std::string_view kZshEnd = R"zsh(
_halftone() {
  local curcontext=$curcontext context state state_descr line
  typeset -A opt_args
  # Not in a function of its own: zsh would restore the words that it changes.
  _arguments -C $_halftone_options ': :->verb' '*:: :->arguments' && return
  case $state in
    verb) _describe -t verbs verb _halftone_verbs ;;
    arguments)
      if (( $+functions[_halftone_verb_$words[1]] )); then
        curcontext=${curcontext%:*}-$words[1]:
        _halftone_verb_$words[1]
      fi
      ;;
  esac
}

if [[ $funcstack[1] == _halftone ]]; then
  _halftone "$@"
else
  compdef _halftone halftone
fi
)zsh";

/// What a value may be: words, then <file> or <folder>. Empty if nothing is known of it.
std::vector<std::string> offers(const OptionText& option) {
  std::vector<std::string> values = option.words;
  if (option.takes_files) values.emplace_back(kFileName);
  if (option.takes_folders) values.emplace_back(kFolder);
  return values;
}

std::vector<std::string> option_names(const VerbText& verb) {
  std::vector<std::string> names;
  for (const OptionText& option : verb.options) {
    if (option.is_option) names.insert(names.end(), option.names.begin(), option.names.end());
  }
  return names;
}

/// "a b"
std::string spaced(const std::vector<std::string>& words) {
  return fmt::format("{}", fmt::join(words, " "));
}

/// Patterns of bash, such as "quantize:--split", by what they offer: "train test".
using Patterns = std::map<std::string, std::vector<std::string>>;

void add_patterns(const VerbText& verb, Patterns& patterns) {
  std::vector<std::string> alone;
  for (const OptionText& option : verb.options) {
    const std::vector<std::string> values = offers(option);
    if (!option.is_option) {
      std::ranges::copy_if(values, std::back_inserter(alone), [&](const std::string& value) {
        return std::ranges::find(alone, value) == alone.end();
      });
    } else if (!option.value.empty()) {
      std::vector<std::string>& same = patterns[spaced(values)];
      for (const std::string& name : option.names) same.push_back(verb.name + ":" + name);
    }
  }
  if (!alone.empty()) patterns[spaced(alone)].push_back(verb.name + ":");
}

/// In single quotes, for both shells.
std::string in_quotes(std::string_view text) {
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string with_backslashes(std::string_view text, std::string_view before) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || before.find(c) != before.npos) out += '\\';
    out += c;
  }
  return out;
}

/// What zsh's _arguments does to complete the value.
std::string zsh_action(const OptionText& option) {
  const std::string words = "(" + spaced(option.words) + ")";
  if (option.takes_folders) return "_files -/";
  if (option.takes_files && !option.words.empty()) {
    return R"({_alternative "names\:name\:)" + words + R"(" "files\:file\:_files"})";
  }
  if (option.takes_files) return "_files";
  return option.words.empty() ? " " : words;
}

/// The specifications of an option or argument for zsh's _arguments.
std::vector<std::string> zsh_specs(const OptionText& option) {
  const std::string name = option.value.starts_with('{') ? "value" : option.value;
  std::string value = ":" + with_backslashes(option.is_option ? name : option.names.front(), ":") +
                      ":" + zsh_action(option);
  if (!option.is_option) return {in_quotes((option.is_required ? "" : ":") + value)};
  if (option.value.empty()) value.clear();
  const std::string front = option.repeats ? "*" : "(" + spaced(option.names) + ")";
  std::vector<std::string> specs;
  for (const std::string& each : option.names) {
    const std::string_view joint = value.empty() ? "" : each.starts_with("--") ? "=" : "+";
    specs.push_back(in_quotes(fmt::format("{}{}{}[{}]{}", front, each, joint,
                                          with_backslashes(option.description, "[]"), value)));
  }
  return specs;
}

/// The specifications of a verb, one in a line, with this between them.
std::string zsh_lines(const VerbText& verb, std::string_view between) {
  std::vector<std::string> lines;
  for (const OptionText& option : verb.options) {
    for (std::string& spec : zsh_specs(option)) lines.push_back(std::move(spec));
  }
  return fmt::format("{}", fmt::join(lines, between));
}

}  // namespace

std::string bash_completion(const ProgramText& text) {
  std::string script(kBashBegin);
  Patterns patterns;
  VerbText program = text.program;
  program.name.clear();
  std::vector<VerbText> all = text.verbs;
  all.push_back(program);
  for (const VerbText& verb : all) {
    script += fmt::format("    {}) echo {} ;;\n", in_quotes(verb.name),
                          in_quotes(spaced(option_names(verb))));
    add_patterns(verb, patterns);
  }
  std::vector<std::string> verbs;
  for (const VerbText& verb : text.verbs) verbs.push_back(verb.name);
  patterns[spaced(verbs)].push_back(":");
  script += kBashValues;
  for (const auto& [values, names] : patterns) {
    script += fmt::format("    {})\n      echo {}\n      ;;\n", fmt::join(names, " | "),
                          in_quotes(values));
  }
  return script.append(kBashEnd);
}

std::string zsh_completion(const ProgramText& text) {
  std::string script =
      "#compdef halftone\n"
      "# Completion of zsh for halftone, written by `halftone --completion zsh`.\n\n"
      "_halftone_verbs=(\n";
  for (const VerbText& verb : text.verbs) {
    script += fmt::format("  {}\n", in_quotes(verb.name + ":" + verb.description));
  }
  script += fmt::format(")\n_halftone_options=(\n  {}\n)\n", zsh_lines(text.program, "\n  "));
  for (const VerbText& verb : text.verbs) {
    script += fmt::format("\n_halftone_verb_{}() {{\n  _arguments \\\n    {}\n}}\n", verb.name,
                          zsh_lines(verb, " \\\n    "));
  }
  return script.append(kZshEnd);
}

}  // namespace halftone::cli
