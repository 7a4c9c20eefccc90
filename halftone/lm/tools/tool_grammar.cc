// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_grammar.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"

namespace halftone::lm {
namespace {

/// Calls in one text at most, so that none goes on for ever.
constexpr std::size_t kMaxCalls = 16;
/// As Mistral's templates take them.
constexpr std::size_t kIdLength = 9;
constexpr const char* kNoParameters =
    R"({"type": "object", "properties": {}, "additionalProperties": false})";

/// A part of a notation, with ids where it has them.
Choices part_choices(Grammar& grammar, const std::string& part) {
  std::vector<Choices> parts{{{}}};
  for (std::size_t at = 0; at < part.size();) {
    const std::size_t mark = std::min(part.find(ToolNotation::kId, at), part.size());
    if (mark > at) parts.push_back(grammar.text(part.substr(at, mark - at)));
    if (mark < part.size()) {
      const Choices character = grammar.characters({{'0', '9'}, {'A', 'Z'}, {'a', 'z'}});
      parts.push_back(grammar.repeat(character, kIdLength, kIdLength));
    }
    at = mark + 1;
  }
  return grammar.sequence(std::move(parts));
}

}  // namespace

Grammar grammar_of_calls(const ToolNotation& notation, std::span<const ToolFunction> functions,
                         bool is_single) {
  Grammar grammar;
  const Choices middle = grammar.shared(part_choices(grammar, notation.middle));
  std::vector<Choices> calls;
  for (const ToolFunction& function : functions) {
    const std::string& schema = function.parameters;
    calls.push_back(with_context("function " + function.name, [&] {
      Choices arguments = add_schema(grammar, schema.empty() ? kNoParameters : schema);
      return grammar.sequence({grammar.text(function.name), middle, std::move(arguments)});
    }));
  }
  const Choices call = grammar.shared(Grammar::either(std::move(calls)));
  std::vector<Choices> parts{call};
  if (!is_single && !notation.between.empty()) {
    const Choices next = grammar.sequence({part_choices(grammar, notation.between), call});
    parts.push_back(grammar.repeat(next, 0, kMaxCalls - 1));
  }
  parts.push_back(part_choices(grammar, notation.end));
  const Symbol root = grammar.declare("root");
  grammar.define(root, grammar.sequence(std::move(parts)));
  grammar.set_root(root);
  return grammar;
}

}  // namespace halftone::lm
