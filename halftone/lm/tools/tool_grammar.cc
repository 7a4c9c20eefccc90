// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_grammar.h"

#include <optional>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/tools/parameter_grammar.h"

namespace halftone::lm {
namespace {

/// Calls in one text at most, so that none goes on for ever.
constexpr std::size_t kMaxCalls = 16;
/// As Mistral's templates take them.
constexpr std::size_t kIdLength = 9;
constexpr const char* kNoParameters =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

/// Digits in a number of a call.
constexpr std::size_t kMaxDigits = 3;

/// What a sign of a notation is in a call; nullopt of a character that is itself.
std::optional<Choices> sign_choices(Grammar& grammar, char sign, const std::string& name) {
  const CharacterRange digits{'0', '9'};
  switch (sign) {
    case ToolNotation::kId:
      return grammar.repeat(grammar.characters({digits, {'A', 'Z'}, {'a', 'z'}}), kIdLength,
                            kIdLength);
    case ToolNotation::kNumber:
      return grammar.repeat(grammar.characters({digits}), 1, kMaxDigits);
    case ToolNotation::kName:
      return grammar.text(name);
    default:
      return std::nullopt;
  }
}

/// A part of a notation in a call of a function.
Choices part_choices(Grammar& grammar, const std::string& part, const std::string& name) {
  std::vector<Choices> parts{{{}}};
  std::string text;
  const auto add_text = [&] {
    if (!text.empty()) parts.push_back(grammar.text(std::exchange(text, "")));
  };
  for (const char c : part) {
    if (auto sign = sign_choices(grammar, c, name)) {
      add_text();
      parts.push_back(*std::move(sign));
    } else {
      text += c;
    }
  }
  add_text();
  return grammar.sequence(std::move(parts));
}

/// What is behind the name of a function.
Choices argument_choices(Grammar& grammar, const ToolNotation& notation, const Choices& middle,
                         const ToolFunction& function) {
  if (notation.parameters) {
    return parameter_choices(grammar, *notation.parameters, middle, function);
  }
  const std::string& schema = function.parameters;
  Choices arguments = add_schema(grammar, schema.empty() ? kNoParameters : schema);
  return grammar.sequence({middle, std::move(arguments)});
}

/// Calls from the name of the first one on.
Choices call_choices(Grammar& grammar, const ToolNotation& notation,
                     std::span<const ToolFunction> functions, bool is_single) {
  std::vector<Choices> calls;
  for (const ToolFunction& function : functions) {
    const std::string& name = function.name;
    const Choices middle = grammar.shared(part_choices(grammar, notation.middle, name));
    calls.push_back(with_context("function " + name, [&] {
      Choices arguments = argument_choices(grammar, notation, middle, function);
      return grammar.sequence({grammar.text(name), std::move(arguments)});
    }));
  }
  const Choices call = grammar.shared(Grammar::either(std::move(calls)));
  std::vector<Choices> parts{call};
  if (!is_single && !notation.between.empty()) {
    const Choices next = grammar.sequence({part_choices(grammar, notation.between, ""), call});
    parts.push_back(grammar.repeat(next, 0, kMaxCalls - 1));
  }
  parts.push_back(part_choices(grammar, notation.end, ""));
  return grammar.sequence(std::move(parts));
}

void set_root(Grammar& grammar, Choices choices) {
  const Symbol root = grammar.declare("root");
  grammar.define(root, std::move(choices));
  grammar.set_root(root);
}

}  // namespace

Grammar grammar_of_calls(const ToolNotation& notation, std::span<const ToolFunction> functions,
                         bool is_single) {
  Grammar grammar;
  set_root(grammar, call_choices(grammar, notation, functions, is_single));
  return grammar;
}

Grammar grammar_of_answers(const ToolNotation& notation, std::span<const ToolFunction> functions,
                           bool is_single, std::string_view schema) {
  Grammar grammar;
  Choices value = add_schema(grammar, schema);
  Choices calls = grammar.sequence({part_choices(grammar, notation.begin, ""),
                                    call_choices(grammar, notation, functions, is_single)});
  set_root(grammar, Grammar::either({std::move(value), std::move(calls)}));
  return grammar;
}

}  // namespace halftone::lm
