// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <set>
#include <utility>

#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

/// A member that a schema names.
struct Member {
  Choices text;
  bool is_required = false;
};

std::vector<std::string> names_of(const Schema& schema, const std::string& where) {
  std::vector<std::string> names;
  if (!schema.contains("required")) return names;
  const Schema& required = schema["required"];
  const bool are_names =
      required.is_array() &&
      std::ranges::all_of(required, [](const Schema& each) { return each.is_string(); });
  if (!are_names)
    fail_schema(where, "required: expected a list of names, found " + required.dump());
  for (const Schema& each : required) names.push_back(each.get<std::string>());
  return names;
}

/// The properties of a schema, and those that are required without being named there.
Schema all_properties(const Schema& schema, const std::vector<std::string>& required,
                      const std::string& where) {
  Schema all = schema.value("properties", Schema::object());
  if (!all.is_object()) fail_schema(where, "properties: expected an object, found " + all.dump());
  for (const std::string& name : required) {
    if (!all.contains(name)) all[name] = schema.value("additionalProperties", Schema(true));
  }
  return all;
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
  if (count_of(schema, "minProperties", 0, where) > required) {
    schema_unsupported(where, "'minProperties' above the number of required members");
  }
  if (named > 0 && count_of(schema, "maxProperties", named, where) < named) {
    schema_unsupported(where, "'maxProperties' below the number of members");
  }
}

/// One pattern of names says what all names are, where no others are named.
Schema with_pattern_of_names(Schema schema, const std::string& where) {
  if (!schema.contains("patternProperties")) return schema;
  const Schema patterns = schema["patternProperties"];
  if (!patterns.is_object()) {
    fail_schema(where, "patternProperties: expected an object, found " + patterns.dump());
  }
  schema.erase("patternProperties");
  if (patterns.empty()) return schema;
  const bool has_others = schema.contains("properties") || schema.contains("required") ||
                          schema.contains("propertyNames");
  if (patterns.size() > 1 || has_others) {
    schema_unsupported(where, "'patternProperties' beside other names");
  }
  schema["propertyNames"] = {{"pattern", patterns.begin().key()}};
  schema["additionalProperties"] = patterns.begin().value();
  return schema;
}

/// Names that "propertyNames" lists become properties.
Schema with_listed_names(Schema schema) {
  const Schema rule = schema.value("propertyNames", Schema());
  const bool is_list = rule.is_object() && rule.contains("enum") && rule["enum"].is_array();
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

/// The names of members that a schema does not name.
Choices other_names(const SchemaScope& scope, const Schema& schema,
                    const std::vector<std::string>& named, const std::string& where) {
  const Schema rule = merged(schema.value("propertyNames", Schema(true)),
                             Schema{{"type", "string"}}, where + "/propertyNames");
  if (rule == Schema{{"type", "string"}}) {
    return scope.json.quoted(scope.json.all_but_texts(named));
  }
  if (!named.empty()) schema_unsupported(where, "'propertyNames' beside members with names");
  return scope.choices_of(rule, where + "/propertyNames");
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

}  // namespace

Choices object_choices(const SchemaScope& scope, const Schema& given, const std::string& where) {
  Grammar& grammar = scope.grammar;
  const Schema schema = with_listed_names(with_pattern_of_names(given, where));
  const std::vector<std::string> required = names_of(schema, where);
  const Schema properties = all_properties(schema, required, where);
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
  const Schema others = schema.value("additionalProperties", Schema(members.empty()));
  Choices more{{}};
  Choices first{{}};
  if (others != false) {
    const std::size_t most =
        members.empty() ? count_of(schema, "maxProperties", kUnbounded, where) : kUnbounded;
    if (!members.empty() && schema.contains("maxProperties")) {
      schema_unsupported(where, "'maxProperties' of named and other members");
    }
    const Choices other = grammar.shared(
        scope.json.member(other_names(scope, schema, names, where),
                          scope.choices_of(others, where + "/additionalProperties")));
    const std::size_t more_than_one =
        most == kUnbounded ? most : std::max<std::size_t>(most, 1) - 1;
    more = grammar.shared(
        grammar.repeat(grammar.sequence({scope.json.sign(","), other}), 0, more_than_one));
    if (most > 0) first = grammar.optional(grammar.sequence({other, more}));
  }
  return grammar.sequence(
      {scope.json.sign("{"), members_in_order(scope, members, more, first), grammar.text("}")});
}

Choices array_choices(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  Grammar& grammar = scope.grammar;
  const std::size_t least = count_of(schema, "minItems", 0, where);
  const std::size_t most = count_of(schema, "maxItems", kUnbounded, where);
  if (schema.value("uniqueItems", Schema(false)) == true && most > 1) {
    schema_unsupported(where, "'uniqueItems'");
  }
  const Schema items = schema.value("items", Schema(true));
  const Schema tuple = items.is_array() ? items : schema.value("prefixItems", Schema::array());
  if (!tuple.is_array()) fail_schema(where, "prefixItems: expected a list, found " + tuple.dump());
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
