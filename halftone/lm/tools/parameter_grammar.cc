// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/parameter_grammar.h"

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/constrain/regular_sets.h"
#include "halftone/lm/text/utf8.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

using Form = ToolParameters::Form;

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
std::string common_end(const Form& form, const std::string& key) {
  const auto same = std::ranges::mismatch(form.next, form.close).in1;
  std::string common = with_key(std::string(form.next.begin(), same), key);
  common.erase(0, common.find_first_not_of(kWhiteSpace));
  common.resize(std::min(common.find_first_of(kWhiteSpace), common.size()));
  std::u32string points;
  for_each_character(common, [&](char32_t c, std::string_view) { points += c; });
  std::string end;
  for (const char32_t c : without_border(std::move(points))) end += to_utf8(c);
  return end;
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
    const std::string where = "#/properties/" + name;
    const RegularSets::Id texts =
        sets_.both({strings_of_schema(sets_, schema.schema, where),
                    without(common_end(notation_.form(JsonType::kString), name))});
    const auto [found, is_new] = texts_.try_emplace(texts);
    if (is_new) {
      found->second = with_context("JSON schema, at '" + where + "'", [&] {
        return grammar_.shared(sets_.choices(texts, grammar_, [&](CharacterRanges ranges) {
          return grammar_.characters(std::move(ranges));
        }));
      });
    }
    return found->second;
  }
  /// Texts without a part.
  RegularSets::Id without(std::string_view part) {
    const RegularSets::Id any = sets_.all();
    return sets_.all_but(sets_.sequence(any, sets_.sequence(sets_.text(part), any)));
  }

  Grammar& grammar_;
  const ToolParameters& notation_;
  std::vector<FunctionParameter> parameters_;
  std::map<std::size_t, Symbol> rules_;
  RegularSets sets_;
  std::map<RegularSets::Id, Choices> texts_;
};

}  // namespace

Choices parameter_choices(Grammar& grammar, const ToolParameters& notation, const Choices& middle,
                          const ToolFunction& function) {
  return ParameterChoices(grammar, notation, parameters_of(function))(middle);
}

}  // namespace halftone::lm
