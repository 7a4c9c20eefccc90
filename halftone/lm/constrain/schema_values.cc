// SPDX-License-Identifier: Apache-2.0
// Values that schemas list, and those that "not" rules out.
#include <algorithm>
#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

/// What "not" may say.
constexpr std::array<std::string_view, 7> kPlain{"type",      "enum",      "const",      "pattern",
                                                 "minLength", "maxLength", kMorePatterns};

bool is_text_rule(std::string_view key) {
  return key == "pattern" || key == "minLength" || key == "maxLength" || key == kMorePatterns;
}

bool has_text_rules(const Schema& schema) {
  return std::ranges::any_of(schema.items(),
                             [](const auto& each) { return is_text_rule(each.key()); });
}

bool has_type(const Schema& schema, const Schema& value, const std::string& where) {
  if (!schema.contains("type")) return true;
  return std::ranges::any_of(types_of(schema, where),
                             [&](const std::string& type) { return is_of_type(value, type); });
}

/// Whether a schema of check_plain() allows a value.
bool allows(const SchemaScope& scope, const Schema& schema, const Schema& value,
            const std::string& where) {
  if (schema.is_boolean()) return schema == true;
  const Schema values = values_of(schema);
  if (!values.is_null() && std::ranges::count(values, value) == 0) return false;
  if (!has_type(schema, value, where)) return false;
  return !value.is_string() || scope.sets.has(string_set(scope, without(schema, "type"), where),
                                              value.get<std::string>());
}

/// Checks that "not" may rule out a schema.
void check_plain(const Schema& schema, const std::string& where) {
  for (const auto& [key, unused] : schema.items()) {
    const bool is_plain = std::ranges::count(kPlain, key) > 0 || !is_constraint(key);
    if (!is_plain) schema_unsupported(where, "'not' of '" + key + "'");
  }
}

/// The types of a schema without those, all of whose values another one allows.
Schema types_without(const Schema& schema, const Schema& excluded, const std::string& where) {
  std::vector<std::string> types = types_of(schema, where);
  if (types.empty()) types = {"object", "array", "string", "number", "boolean", "null"};
  const Schema values = values_of(excluded);
  Schema left = Schema::array();
  for (const std::string& type : types) {
    const auto of_type = [&](const Schema& value) { return is_of_type(value, type); };
    std::vector<std::string> out = {type};
    if (excluded.contains("type")) out = types_of(excluded, where);
    const auto is_out = [&](std::string_view name) { return std::ranges::count(out, name) > 0; };
    const bool is_integer_out = type == "number" && is_out("integer") && !is_out("number");
    const bool is_some = !values.is_null() && std::ranges::any_of(values, of_type);
    const bool is_all =
        type == "null"
            ? is_out(type) && (values.is_null() || is_some)
            : values.is_null() && (is_out(type) || (type == "integer" && is_out("number")));
    if (type == "string" ? is_all && !has_text_rules(excluded) : is_all) continue;
    if (type != "string" && (is_integer_out || is_some)) {
      schema_unsupported(where, "'not' of some values of the type '" + type + "'");
    }
    left.push_back(type);
  }
  return left;
}

/// The values of `schema` that `excluded` does not allow.
Schema without_excluded(const SchemaScope& scope, Schema schema, const Schema& excluded,
                        const std::string& where) {
  if (excluded == false || schema.is_boolean()) return schema;
  if (excluded == true) return false;
  if (!excluded.is_object()) fail_schema(where, "expected a schema, found " + excluded.dump());
  check_plain(excluded, where);
  Schema values = values_of(schema);
  if (!values.is_null()) {
    std::erase_if(values.get_ref<Schema::array_t&>(),
                  [&](const Schema& value) { return allows(scope, excluded, value, where); });
    schema.erase("const");
    schema["enum"] = values;
    return schema;
  }
  schema["type"] = types_without(schema, excluded, where);
  schema[kExcluded].push_back(excluded);
  return schema;
}

}  // namespace

Schema allowed_values(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  Schema values = values_of(schema);
  if (values.is_null()) return values;
  check_keywords(schema, where);
  for (const char* key : {"anyOf", "oneOf", "not"}) {
    if (schema.contains(key)) {
      schema_unsupported(where, std::string("'enum' or 'const' beside '") + key + "'");
    }
  }
  const Schema rest = without(without(schema, "enum"), "const");
  std::erase_if(values.get_ref<Schema::array_t&>(), [&](const Schema& value) {
    if (!has_type(schema, value, where)) return true;
    if (value.is_string()) {
      return !scope.sets.has(string_set(scope, rest, where), value.get<std::string>());
    }
    if (value.is_number()) return !allows_number(rest, value.get<double>(), where);
    for (const auto& [key, unused] : rest.items()) {
      const bool is_about_it = is_constraint(key) && key != "type" && key != kExcluded &&
                               (!type_of_keyword(key) || is_of_type(value, *type_of_keyword(key)));
      if (is_about_it) schema_unsupported(where, "'enum' or 'const' beside '" + key + "'");
    }
    return false;
  });
  return values;
}

Schema without_not(const SchemaScope& scope, const Schema& schema, const std::string& where) {
  const std::string place = where + "/not";
  Schema left = without(schema, "not");
  const Schema excluded = scope.flat(schema["not"], place);
  const Schema all = excluded.is_object() && excluded.contains("anyOf") && excluded.size() == 1
                         ? excluded["anyOf"]
                         : Schema::array({excluded});
  for (const Schema& each : all) {
    left = without_excluded(scope, std::move(left), scope.flat(each, place), place);
  }
  return left;
}

}  // namespace halftone::lm
