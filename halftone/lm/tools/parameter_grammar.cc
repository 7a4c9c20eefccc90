// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/parameter_grammar.h"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/text/utf8.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Form = ToolParameters::Form;

/// What a schema may say of strings and raw texts do not follow.
constexpr std::array<const char*, 4> kStringKeywords = {"minLength", "maxLength", "pattern",
                                                        "format"};

/// A part of a notation behind a value.
std::string with_key(std::string part, const std::string& key) {
  for (std::size_t at = part.find(ToolNotation::kKey); at != std::string::npos;
       at = part.find(ToolNotation::kKey)) {
    part.replace(at, 1, key);
  }
  return part;
}

/// The longest beginning of a part that does not end as it begins. A text without it, with it
/// behind, has it nowhere else.
std::u32string without_border(std::u32string part) {
  const auto has_border = [&] {
    for (std::size_t length = 1; length < part.size(); ++length) {
      if (part.ends_with(part.substr(0, length))) return true;
    }
    return false;
  };
  while (has_border()) part.pop_back();
  return part;
}

/// What "next" and "close" begin with both, up to white space.
std::u32string common_end(const Form& form, const std::string& key) {
  const auto same = std::ranges::mismatch(form.next, form.close).in1;
  std::string common = with_key(std::string(form.next.begin(), same), key);
  common.erase(0, common.find_first_not_of(kWhiteSpace));
  common.resize(std::min(common.find_first_of(kWhiteSpace), common.size()));
  std::u32string points;
  for_each_character(common, [&](char32_t c, std::string_view) { points += c; });
  return without_border(points);
}

/// Texts without some part of their own, as the automaton of Knuth, Morris and Pratt reads them:
/// state i has read the first i characters of the part.
Choices texts_without(Grammar& grammar, const std::u32string& part) {
  std::vector<Symbol> states;
  for (std::size_t i = 0; i < part.size(); ++i) states.push_back(grammar.declare("text"));
  const auto next = [&](std::size_t state, char32_t c) {
    const std::u32string read = part.substr(0, state) + c;
    std::size_t length = std::min(read.size(), part.size());
    while (!read.ends_with(part.substr(0, length))) --length;
    return length;
  };
  const std::set<char32_t> signs(part.begin(), part.end());
  std::vector<CharacterRange> ranges;
  for (const char32_t c : signs) ranges.push_back({c, c});
  const Choices others = grammar.shared(grammar.characters(all_but(ranges)));
  for (std::size_t i = 0; i < part.size(); ++i) {
    std::vector<Choices> choices{{{}}, grammar.sequence({others, {{states[0]}}})};
    for (const char32_t c : signs) {
      const std::size_t state = next(i, c);
      if (state == part.size()) continue;
      choices.push_back(grammar.sequence({grammar.characters({{c, c}}), {{states[state]}}}));
    }
    grammar.define(states[i], Grammar::either(std::move(choices)));
  }
  return {{states[0]}};
}

class ParameterChoices {
 public:
  ParameterChoices(Grammar& grammar, const ToolParameters& notation,
                   std::vector<FunctionParameter> parameters)
      : grammar_(grammar), notation_(notation), parameters_(std::move(parameters)) {}

  Choices operator()(const Choices& middle) {
    std::vector<Choices> all;
    if (!notation_.none.empty() &&
        std::ranges::none_of(parameters_, &FunctionParameter::is_required)) {
      all.push_back(grammar_.text(notation_.none));
    }
    const Choices first = from(0);
    if (!first.empty()) all.push_back(grammar_.sequence({middle, first}));
    return Grammar::either(std::move(all));
  }

 private:
  /// A parameter of those from the i-th on, and what may follow it.
  Choices from(std::size_t i) {
    std::vector<Choices> all;
    for (; i < parameters_.size(); ++i) {
      all.push_back(parameter(i));
      if (parameters_[i].is_required) break;
    }
    return Grammar::either(std::move(all));
  }
  Choices parameter(std::size_t i) {
    const auto [found, is_new] = rules_.try_emplace(i);
    if (!is_new) return {{found->second}};
    const Symbol rule = grammar_.declare("parameter");
    found->second = rule;
    const FunctionParameter& each = parameters_[i];
    std::vector<Choices> all;
    for (const TypedSchema& schema : each.alternatives) {
      const Form& form = notation_.form(schema.type);
      all.push_back(grammar_.sequence({grammar_.text(each.name + form.open),
                                       value(schema, each.name), behind(i, schema.type)}));
    }
    grammar_.define(rule, Grammar::either(std::move(all)));
    return {{rule}};
  }
  Choices behind(std::size_t i, JsonType type) {
    const Form& form = notation_.form(type);
    const std::string& key = parameters_[i].name;
    std::vector<Choices> all;
    const auto rest = parameters_.begin() + static_cast<std::ptrdiff_t>(i) + 1;
    if (std::none_of(rest, parameters_.end(), [](const auto& each) { return each.is_required; })) {
      all.push_back(grammar_.text(with_key(form.close, key)));
    }
    Choices next = from(i + 1);
    if (!next.empty())
      all.push_back(grammar_.sequence({grammar_.text(with_key(form.next, key)), next}));
    return Grammar::either(std::move(all));
  }
  Choices value(const TypedSchema& schema, const std::string& name) {
    if (schema.type != JsonType::kString) return add_schema(grammar_, schema.schema);
    const OrderedJson json = OrderedJson::parse(schema.schema);
    for (const char* keyword : kStringKeywords) {
      if (!json.contains(keyword)) continue;
      fail(ErrorKind::kUnsupported,
           "JSON schema, at '#/properties/" + name + "': '" + keyword +
               "' in the notation of this model, which has strings without quotes");
    }
    if (!json.contains("enum")) {
      const std::u32string end = common_end(notation_.form(JsonType::kString), name);
      const auto [found, is_new] = texts_.try_emplace(end);
      if (is_new) found->second = texts_without(grammar_, end);
      return found->second;
    }
    std::vector<Choices> all;
    for (const OrderedJson& each : json["enum"]) {
      all.push_back(grammar_.text(each.get<std::string>()));
    }
    return Grammar::either(std::move(all));
  }

  Grammar& grammar_;
  const ToolParameters& notation_;
  std::vector<FunctionParameter> parameters_;
  std::map<std::size_t, Symbol> rules_;
  std::map<std::u32string, Choices> texts_;  ///< by what ends them
};

}  // namespace

Choices parameter_choices(Grammar& grammar, const ToolParameters& notation, const Choices& middle,
                          const ToolFunction& function) {
  return ParameterChoices(grammar, notation, parameters_of(function))(middle);
}

}  // namespace halftone::lm
