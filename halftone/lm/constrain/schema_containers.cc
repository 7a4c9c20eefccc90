// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <span>
#include <utility>

#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

/// A member that a schema names.
struct Member {
  Choices text;
  bool is_required = false;
};

std::vector<std::string> names_of(const Schema& schema) {
  std::vector<std::string> names;
  if (!schema.contains("required")) return names;
  for (const Schema& each : schema["required"]) names.push_back(each.get<std::string>());
  return names;
}

/// Members in order. What may follow them comes last: `more` behind a member, `first` without one.
Choices members_in_order(const SchemaScope& scope, const std::vector<Member>& members, Choices more,
                         Choices first) {
  Grammar& grammar = scope.grammar;
  for (auto each = members.rbegin(); each != members.rend(); ++each) {
    const Choices text = grammar.shared(each->text);
    const Choices next = grammar.sequence({text, more});
    const Choices behind = grammar.sequence({scope.json.sign(","), text, more});
    first = grammar.shared(each->is_required ? next : Grammar::either({next, first}));
    more = grammar.shared(each->is_required ? behind : Grammar::either({behind, more}));
  }
  return first;
}

void check_number_of_members(const Schema& schema, std::size_t named, std::size_t required,
                             const std::string& where) {
  const std::size_t least = count_of(schema, "minProperties", 0, where);
  if (least > std::max<std::size_t>(required, 1)) {
    schema_unsupported(where, "'minProperties' above 1 and the number of required members");
  }
  if (named > 0 && count_of(schema, "maxProperties", named, where) < named) {
    schema_unsupported(where, "'maxProperties' below the number of members");
  }
}

/// Names that "propertyNames" lists become properties.
Schema with_listed_names(Schema schema) {
  const Schema rule = schema.value("propertyNames", Schema());
  const bool is_list = rule.is_object() && rule.contains("enum") && rule["enum"].is_array() &&
                       !schema.contains("patternProperties");
  if (!is_list || rule.size() > (rule.contains("type") ? 2U : 1U)) return schema;
  Schema all = Schema::object();
  const Schema properties = schema.value("properties", Schema::object());
  for (const Schema& name : rule["enum"]) {
    if (!name.is_string()) continue;
    const auto& text = name.get_ref<const std::string&>();
    all[text] = properties.is_object() && properties.contains(text)
                    ? properties[text]
                    : schema.value("additionalProperties", Schema(true));
  }
  schema["properties"] = std::move(all);
  schema["additionalProperties"] = false;
  schema.erase("propertyNames");
  return schema;
}

/// What an object says of the members with some names.
struct NameRule {
  RegularSets::Id names = 0;
  std::optional<Schema> schema{};  ///< none: what it says of all others
};

/// What patterns say of names: one rule for each set of patterns that a name can have.
std::vector<NameRule> rules_of_names(const SchemaScope& scope, const Schema& schema,
                                     const std::string& where) {
  RegularSets& sets = scope.sets;
  const Schema allowed = schema.value("propertyNames", Schema(true));
  for (const char* key : {"anyOf", "oneOf", "not"}) {
    if (allowed.is_object() && allowed.contains(key)) {
      schema_unsupported(where, std::string("'propertyNames' with '") + key + "'");
    }
  }
  std::vector<NameRule> rules{{string_set(scope, allowed, where + "/propertyNames")}};
  const Schema patterns = schema.value("patternProperties", Schema::object());
  for (const auto& [pattern, inner] : patterns.items()) {
    const std::string place = where + "/patternProperties/" + pattern;
    const RegularSets::Id names = string_set(scope, {{"pattern", pattern}}, place);
    std::vector<NameRule> next;
    for (NameRule& rule : rules) {
      const Schema here = rule.schema ? merged(*rule.schema, inner, place) : inner;
      next.push_back({sets.both({rule.names, names}), here});
      next.push_back({sets.both({rule.names, sets.all_but(names)}), std::move(rule.schema)});
    }
    std::erase_if(next, [&](const NameRule& rule) {
      return at_place(place, [&] { return sets.is_none(rule.names); });
    });
    rules = std::move(next);
  }
  return rules;
}

/// What an object says of each member that it names: in "properties" and "required".
Schema named_members(const SchemaScope& scope, const Schema& schema,
                     const std::vector<std::string>& required, std::span<const NameRule> rules,
                     const std::string& where) {
  Schema all = schema.value("properties", Schema::object());
  std::vector<std::string> names = required;
  for (const auto& [name, unused] : all.items()) names.push_back(name);
  for (const std::string& name : names) {
    const auto rule = std::ranges::find_if(
        rules, [&](const NameRule& each) { return scope.sets.has(each.names, name); });
    const bool is_named = all.contains(name);
    if (rule == rules.end()) {
      all[name] = false;
    } else if (rule->schema) {
      all[name] = is_named ? merged(all[name], *rule->schema, where + "/" + name) : *rule->schema;
    } else if (!is_named) {
      all[name] = schema.value("additionalProperties", Schema(true));
    }
  }
  return all;
}

/// A member that a schema does not name, empty if there is none.
/// @param rules  of names
/// @param named  those it names
/// @param others  of names without a rule
Choices other_member(const SchemaScope& scope, std::span<const NameRule> rules,
                     const std::vector<std::string>& named, const Schema& others,
                     const std::string& where) {
  RegularSets& sets = scope.sets;
  std::vector<RegularSets::Id> texts;
  for (const std::string& name : named) texts.push_back(sets.text(name));
  const RegularSets::Id not_named = sets.all_but(sets.either(std::move(texts)));
  std::vector<Choices> all;
  for (const NameRule& rule : rules) {
    const Schema& inner = rule.schema ? *rule.schema : others;
    if (inner == false) continue;
    const Choices name = at_place(where, [&] {
      return text_choices(scope, sets.both({rule.names, not_named}));
    });
    all.push_back(
        scope.json.member(name, scope.choices_of(inner, where + "/additionalProperties")));
  }
  return Grammar::either(std::move(all));
}

/// What a list goes on with: without an item in front, and behind one.
struct Items {
  Choices first{{}};
  Choices more{{}};
};

/// @param most  at least 1
Items repeated_items(const SchemaScope& scope, const Choices& item, std::size_t least,
                     std::size_t most) {
  Grammar& grammar = scope.grammar;
  const Choices next = grammar.sequence({scope.json.sign(","), item});
  const std::size_t fewest = std::max<std::size_t>(least, 1) - 1;
  const std::size_t max_behind = most == kUnbounded ? most : most - 1;
  Choices first = grammar.sequence({item, grammar.repeat(next, fewest, max_behind)});
  if (least == 0) first = grammar.optional(std::move(first));
  return {std::move(first), grammar.shared(grammar.repeat(next, least, most))};
}

/// Lists without a value twice.
class DistinctItems {
 public:
  DistinctItems(const SchemaScope& scope, const Schema& values, std::size_t least, std::size_t most)
      : scope_(scope), least_(least), most_(most) {
    for (const Schema& each : values) {
      if (std::ranges::count(values_, each) == 0) values_.push_back(each);
    }
  }
  [[nodiscard]] bool are_too_many() const { return values_.size() > kMaxValues; }
  Choices operator()() { return behind(0); }

 private:
  static constexpr std::size_t kMaxValues = 10;

  /// What a list goes on with.
  /// @param used  the values that it has, a bit each
  Choices behind(std::size_t used) {
    const auto num_used = static_cast<std::size_t>(std::popcount(used));
    std::vector<Choices> ways;
    if (num_used >= least_) ways.push_back({{}});
    for (std::size_t i = 0; i < values_.size() && num_used < most_; ++i) {
      if ((used >> i & 1) != 0) continue;
      Choices item = scope_.json.spaced(scope_.grammar.text(values_[i].dump()));
      if (used != 0) item = scope_.grammar.sequence({scope_.json.sign(","), item});
      ways.push_back(scope_.grammar.sequence({item, rule_behind(used | std::size_t{1} << i)}));
    }
    return Grammar::either(std::move(ways));
  }
  Choices rule_behind(std::size_t used) {
    const auto found = rules_.find(used);
    if (found != rules_.end()) return found->second;
    Choices rule = scope_.grammar.shared(behind(used));
    rules_.emplace(used, rule);
    return rule;
  }

  const SchemaScope& scope_;
  std::vector<Schema> values_;
  std::size_t least_;
  std::size_t most_;
  std::map<std::size_t, Choices> rules_;
};

Choices distinct_items(const SchemaScope& scope, const Schema& schema, std::size_t least,
                       std::size_t most, const std::string& where) {
  const Schema items = scope.flat(schema.value("items", Schema(true)), where + "/items");
  Schema values = allowed_values(scope, items, where + "/items");
  if (values.is_null() && items.is_object() && items.value("type", Schema()) == "boolean") {
    values = {true, false};
  }
  DistinctItems lists(scope, values, least, most);
  if (values.is_null() || schema.contains("prefixItems") || lists.are_too_many()) {
    schema_unsupported(where, "'uniqueItems' other than of at most 10 constants");
  }
  return lists();
}

/// What comes behind the members that a schema names: `more` behind one, `first` without one.
struct OtherMembers {
  Choices more{{}};
  Choices first{};
};

/// @param member     of those that it does not name; empty: there is none
/// @param num_named  members
OtherMembers other_members(const SchemaScope& scope, const Schema& schema, const Choices& member,
                           std::size_t num_named, const std::string& where) {
  Grammar& grammar = scope.grammar;
  OtherMembers others;
  if (count_of(schema, "minProperties", 0, where) == 0) others.first = {{}};
  if (member.empty()) return others;
  if (num_named != 0 && schema.contains("maxProperties")) {
    schema_unsupported(where, "'maxProperties' of named and other members");
  }
  const std::size_t most = count_of(schema, "maxProperties", kUnbounded, where);
  const std::size_t max_more = most == kUnbounded ? most : std::max<std::size_t>(most, 1) - 1;
  const Choices one = grammar.shared(member);
  others.more =
      grammar.shared(grammar.repeat(grammar.sequence({scope.json.sign(","), one}), 0, max_more));
  if (most > 0) {
    others.first = Grammar::either({others.first, grammar.sequence({one, others.more})});
  }
  return others;
}

}  // namespace

Choices object_choices(const SchemaScope& scope, const Schema& given, const std::string& where) {
  Grammar& grammar = scope.grammar;
  Schema schema = given;
  if (schema.contains("propertyNames")) {
    schema["propertyNames"] = scope.flat(schema["propertyNames"], where + "/propertyNames");
  }
  schema = with_listed_names(std::move(schema));
  const std::vector<std::string> required = names_of(schema);
  const std::vector<NameRule> rules = rules_of_names(scope, schema, where);
  const Schema properties = named_members(scope, schema, required, rules, where);
  std::vector<Member> members;
  std::vector<std::string> names;
  std::size_t num_required = 0;
  for (const auto& [name, inner] : properties.items()) {
    const bool is_required = std::ranges::count(required, name) > 0;
    num_required += is_required ? 1 : 0;
    names.push_back(name);
    members.push_back({scope.json.member(grammar.text(Schema(name).dump()),
                                         scope.choices_of(inner, where + "/properties/" + name)),
                       is_required});
  }
  check_number_of_members(schema, members.size(), num_required, where);
  const bool is_open = members.empty() && !schema.contains("patternProperties") &&
                       !schema.contains("unevaluatedProperties");
  const Choices other = other_member(scope, rules, names,
                                     schema.value("additionalProperties", Schema(is_open)), where);
  const auto [more, first] = other_members(scope, schema, other, members.size(), where);
  return grammar.sequence(
      {scope.json.sign("{"), members_in_order(scope, members, more, first), grammar.text("}")});
}

Choices array_choices(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  Grammar& grammar = scope.grammar;
  const std::size_t least = count_of(schema, "minItems", 0, where);
  const std::size_t most = count_of(schema, "maxItems", kUnbounded, where);
  if (schema.value("uniqueItems", Schema(false)) == true && most > 1) {
    return grammar.sequence({scope.json.sign("["),
                             distinct_items(scope, schema, least, most, where), grammar.text("]")});
  }
  const Schema items = schema.value("items", Schema(true));
  const Schema tuple = items.is_array() ? items : schema.value("prefixItems", Schema::array());
  const Schema others = items.is_array() ? schema.value("additionalItems", Schema(true)) : items;
  if (most < least) return {};

  const auto item = [&](const Schema& inner, const std::string& place) {
    return grammar.shared(scope.json.spaced(scope.choices_of(inner, where + place)));
  };
  const std::size_t named = std::min(tuple.size(), most);
  Items items_behind;
  if (most > named) {
    items_behind = repeated_items(scope, item(others, "/items"), least - std::min(least, named),
                                  most == kUnbounded ? most : most - named);
  }
  auto& [first, more] = items_behind;
  for (std::size_t i = named; i-- > 0;) {
    const Choices text = item(tuple[i], "/prefixItems/" + std::to_string(i));
    const Choices next = grammar.sequence({text, more});
    const Choices behind = grammar.sequence({scope.json.sign(","), text, more});
    const bool is_needed = i < least;
    // A list that ends in front of an optional item has no others.
    first = is_needed ? next : grammar.optional(next);
    more = grammar.shared(is_needed ? behind : grammar.optional(behind));
  }
  return grammar.sequence({scope.json.sign("["), std::move(first), grammar.text("]")});
}

}  // namespace halftone::lm
