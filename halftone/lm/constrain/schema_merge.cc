// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/schema_merge.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

constexpr std::array<std::string_view, 7> kTypes{"object",  "array",   "string", "number",
                                                 "integer", "boolean", "null"};

/// Keywords that would rule out what a grammar gives.
constexpr std::array<std::string_view, 8> kUnsupportedKeywords{
    "if",       "then",        "else",          "dependentSchemas",
    "contains", "$dynamicRef", "$recursiveRef", "unevaluatedItems"};

/// Other keywords that say what a value may be.
constexpr std::array<std::string_view, 32> kConstraints{"type",
                                                        "enum",
                                                        "const",
                                                        "properties",
                                                        "required",
                                                        "items",
                                                        "minItems",
                                                        "maxItems",
                                                        "prefixItems",
                                                        "additionalProperties",
                                                        "minLength",
                                                        "maxLength",
                                                        "pattern",
                                                        "format",
                                                        "minimum",
                                                        "maximum",
                                                        "allOf",
                                                        "anyOf",
                                                        "oneOf",
                                                        "exclusiveMinimum",
                                                        "multipleOf",
                                                        "uniqueItems",
                                                        "minProperties",
                                                        "exclusiveMaximum",
                                                        "propertyNames",
                                                        "patternProperties",
                                                        "not",
                                                        kMorePatterns,
                                                        kExcluded,
                                                        "unevaluatedProperties",
                                                        "dependentRequired",
                                                        "dependencies"};

bool is_schema(const Schema& value) { return value.is_object() || value.is_boolean(); }

bool are_names(const Schema& value) {
  return value.is_array() &&
         std::ranges::all_of(value, [](const Schema& each) { return each.is_string(); });
}

/// What the values of some keywords are.
struct KeywordKind {
  std::vector<std::string_view> keywords;
  bool (*fits)(const Schema&);
  const char* expected;
};

const std::vector<KeywordKind>& keyword_kinds() {
  static const std::vector<KeywordKind> kinds{
      {{"properties", "patternProperties", "$defs", "definitions"},
       [](const Schema& value) { return value.is_object(); },
       "an object"},
      {{"required"}, &are_names, "a list of names"},
      {{"dependentRequired", "dependencies"},
       [](const Schema& value) {
         return value.is_object() && std::ranges::all_of(value, &are_names);
       },
       "an object of lists of names"},
      {{"enum", "prefixItems", "allOf"},
       [](const Schema& value) { return value.is_array(); },
       "a list"},
      {{"anyOf", "oneOf"},
       [](const Schema& value) { return value.is_array() && !value.empty(); },
       "a list of schemas"},
      {{"pattern"}, [](const Schema& value) { return value.is_string(); }, "a string"},
      {{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"},
       [](const Schema& value) { return value.is_number(); },
       "a number"},
      {{"items"},
       [](const Schema& value) { return is_schema(value) || value.is_array(); },
       "a schema or a list of schemas"},
      {{"additionalProperties", "additionalItems", "propertyNames", "not"}, is_schema, "a schema"}};
  return kinds;
}

/// Keywords that are about one type.
const std::map<std::string, std::string, std::less<>>& types_of_keywords() {
  static const std::map<std::string, std::string, std::less<>> types{
      {"properties", "object"},
      {"required", "object"},
      {"additionalProperties", "object"},
      {"patternProperties", "object"},
      {"minProperties", "object"},
      {"maxProperties", "object"},
      {"propertyNames", "object"},
      {"unevaluatedProperties", "object"},
      {"dependentRequired", "object"},
      {"dependentSchemas", "object"},
      {"dependencies", "object"},
      {"items", "array"},
      {"prefixItems", "array"},
      {"minItems", "array"},
      {"maxItems", "array"},
      {"uniqueItems", "array"},
      {"contains", "array"},
      {"minLength", "string"},
      {"maxLength", "string"},
      {"pattern", "string"},
      {kMorePatterns, "string"},
      {"format", "string"},
      {"minimum", "number"},
      {"maximum", "number"},
      {"exclusiveMinimum", "number"},
      {"exclusiveMaximum", "number"},
      {"multipleOf", "number"}};
  return types;
}

/// What of two lists of types a value can be: an integer is a number.
Schema common_types(const Schema& a, const Schema& b, const std::string& where) {
  Schema common = Schema::array();
  const std::vector<std::string> second = types_of(Schema{{"type", b}}, where);
  for (const std::string& each : types_of(Schema{{"type", a}}, where)) {
    for (const std::string& other : second) {
      if (each == other || (each == "integer" && other == "number")) common.push_back(each);
      if (each == "number" && other == "integer") common.push_back(other);
    }
  }
  return common;
}

Schema common_values(const Schema& a, const Schema& b) {
  Schema common = Schema::array();
  for (const Schema& each : a) {
    if (std::ranges::count(b, each) > 0) common.push_back(each);
  }
  return common;
}

Schema merged_properties(const Schema& a, const Schema& b, const std::string& where) {
  Schema all = a;
  for (const auto& [name, schema] : b.items()) {
    all[name] = all.contains(name) ? merged(all[name], schema, where + "/" + name) : schema;
  }
  return all;
}

/// Members that one schema names follow what the other says of those that it does not name.
void follow_additional(Schema& all, const Schema& a, const Schema& b, const std::string& where) {
  for (const auto& [one, other] : {std::pair(&a, &b), std::pair(&b, &a)}) {
    if (!one->contains("additionalProperties")) continue;
    const Schema& rule = (*one)["additionalProperties"];
    for (const char* key : {"properties", "patternProperties"}) {
      const Schema named = other->value(key, Schema::object());
      for (const auto& [name, unused] : named.items()) {
        const bool is_known = one->contains(key) && (*one)[key].contains(name);
        if (!is_known) all[key][name] = merged(all[key][name], rule, where + "/" + name);
      }
    }
  }
}

/// A keyword that both schemas have, with other values.
Schema merged_keyword(const std::string& key, const Schema& a, const Schema& b,
                      const std::string& where) {
  if (key == "type") return common_types(a, b, where);
  if (key == "enum") return common_values(a, b);
  if (key == "properties" || key == "patternProperties" || key == "$defs" || key == "definitions") {
    return merged_properties(a, b, where);
  }
  if (key == "items" && !a.is_array() && !b.is_array()) return merged(a, b, where);
  if (key == "required") {
    Schema all = a;
    for (const Schema& each : b) {
      if (std::ranges::count(all, each) == 0) all.push_back(each);
    }
    return all;
  }
  const bool are_numbers = a.is_number() && b.is_number();
  if (are_numbers && (key.starts_with("min") || key == "exclusiveMinimum")) return std::max(a, b);
  if (are_numbers && (key.starts_with("max") || key == "exclusiveMaximum")) return std::min(a, b);
  if (key == "additionalProperties") return merged(a, b, where);
  if (key == "not") return {{"anyOf", {a, b}}};
  if (key == kMorePatterns || key == kExcluded) {
    Schema all = a;
    for (const Schema& each : b) all.push_back(each);
    return all;
  }
  if (key == "anyOf" || key == "oneOf") {
    schema_unsupported(where, "allOf of two schemas with '" + key + "' each");
  }
  const bool says_nothing = !types_of_keywords().contains(key) && key != "const";
  if (says_nothing || key == "format") return b;
  schema_unsupported(where, "two schemas with different '" + key + "'");
}

}  // namespace

void fail_schema(const std::string& where, const std::string& what) {
  fail(ErrorKind::kFormat, "JSON schema, at '" + where + "': " + what);
}

void schema_unsupported(const std::string& where, const std::string& what) {
  fail(ErrorKind::kUnsupported, "JSON schema, at '" + where + "': " + what +
                                    " is not supported in what a model is to write");
}

bool is_constraint(std::string_view key) {
  return std::ranges::count(kConstraints, key) > 0 ||
         std::ranges::count(kUnsupportedKeywords, key) > 0;
}

std::optional<std::string> type_of_keyword(std::string_view key) {
  const auto found = types_of_keywords().find(key);
  if (found == types_of_keywords().end()) return std::nullopt;
  return found->second;
}

void check_kinds(const Schema& schema, const std::string& where) {
  for (const auto& [keywords, fits, expected] : keyword_kinds()) {
    for (const std::string_view keyword : keywords) {
      const auto found = schema.find(keyword);
      if (found == schema.end() || fits(*found)) continue;
      fail_schema(where,
                  std::string(keyword) + ": expected " + expected + ", found " + found->dump());
    }
  }
}

void check_keywords(const Schema& schema, const std::string& where) {
  for (const std::string_view key : kUnsupportedKeywords) {
    if (schema.contains(key)) schema_unsupported(where, "'" + std::string(key) + "'");
  }
  const bool is_open = schema.value("additionalProperties", Schema(false)) != false;
  if (schema.contains("unevaluatedProperties") && is_open) {
    schema_unsupported(where, "'unevaluatedProperties' beside 'additionalProperties'");
  }
}

Schema without(Schema schema, std::string_view key) {
  schema.erase(std::string(key));
  return schema;
}

std::vector<std::string> types_of(const Schema& schema, const std::string& where) {
  std::vector<std::string> types;
  const auto add = [&](const Schema& type) {
    const bool is_type =
        type.is_string() && std::ranges::count(kTypes, type.get<std::string>()) > 0;
    if (!is_type) {
      fail_schema(where,
                  "type: expected object, array, string, number, integer, boolean or null, "
                  "found " +
                      type.dump());
    }
    const auto name = type.get<std::string>();
    if (std::ranges::count(types, name) == 0) types.push_back(name);
  };
  if (schema.contains("type")) {
    const Schema& type = schema["type"];
    if (!type.is_array()) add(type);
    if (type.is_array()) std::ranges::for_each(type, add);
    return types;
  }
  for (const auto& [key, unused] : schema.items()) {
    const auto found = types_of_keywords().find(key);
    if (found != types_of_keywords().end()) add(found->second);
  }
  return types;
}

Schema values_of(const Schema& schema) {
  if (!schema.is_object()) return nullptr;
  Schema listed = schema.value("enum", Schema(nullptr));
  if (!schema.contains("const")) return listed;
  Schema constant = Schema::array({schema["const"]});
  return listed.is_null() ? constant : common_values(constant, listed);
}

bool is_of_type(const Schema& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "null") return value.is_null();
  if (type == "number") return value.is_number();
  return value.is_number_integer() ||
         (value.is_number() && value.get<double>() == std::floor(value.get<double>()));
}

Schema merged(const Schema& a, const Schema& b, const std::string& where) {
  if (a.is_boolean()) return a == true ? b : a;
  if (b.is_boolean()) return b == true ? a : b;
  if (!a.is_object() || !b.is_object()) fail_schema(where, "expected a schema, found " + b.dump());
  check_kinds(a, where);
  check_kinds(b, where);
  Schema all = a;
  for (const auto& [key, value] : b.items()) {
    const bool is_same = !all.contains(key) || all[key] == value;
    if (key == "pattern" && !is_same) {
      all[kMorePatterns].push_back(value);
    } else {
      all[key] = is_same ? value : merged_keyword(key, all[key], value, where);
    }
  }
  const Schema constants_a = values_of(a);
  const Schema constants_b = values_of(b);
  if (!constants_a.is_null() && !constants_b.is_null()) {
    all.erase("const");
    all["enum"] = common_values(constants_a, constants_b);
  }
  follow_additional(all, a, b, where);
  return all;
}

bool are_disjoint(const Schema& a, const Schema& b) {
  if (a == false || b == false) return true;
  if (!a.is_object() || !b.is_object()) return false;
  const Schema values_a = values_of(a);
  const Schema values_b = values_of(b);
  if (!values_a.is_null() && !values_b.is_null()) return common_values(values_a, values_b).empty();
  const auto is_none_of = [](const Schema& values, const Schema& schema) {
    if (values.is_null() || !schema.contains("type")) return false;
    const std::vector<std::string> types = types_of(schema, "");
    return std::ranges::none_of(values, [&](const Schema& value) {
      return std::ranges::any_of(types, [&](auto& type) { return is_of_type(value, type); });
    });
  };
  if (is_none_of(values_a, b) || is_none_of(values_b, a)) return true;
  if (a.contains("type") && b.contains("type")) {
    if (common_types(a["type"], b["type"], "").empty()) return true;
  }
  if (!a.contains("properties") || !b.contains("properties")) return false;
  const auto requires_name = [](const Schema& schema, const std::string& name) {
    return schema.contains("required") && std::ranges::count(schema["required"], Schema(name)) > 0;
  };
  for (const auto& [name, schema] : a["properties"].items()) {
    const bool is_in_both = b["properties"].contains(name) && requires_name(a, name) &&
                            requires_name(b, name) && a.value("type", Schema()) == "object" &&
                            b.value("type", Schema()) == "object";
    if (is_in_both && are_disjoint(schema, b["properties"][name])) return true;
  }
  return false;
}

}  // namespace halftone::lm
