// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/json_schema.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/lm/constrain/json_text_rules.h"
#include "halftone/lm/constrain/schema_merge.h"
#include "halftone/lm/constrain/schema_parts.h"

namespace halftone::lm {
namespace {

/// Whether a reference or a choice of branches beside the other keywords has to be merged.
bool has_constraints(const Schema& schema) {
  return std::ranges::any_of(schema.items(),
                             [](const auto& each) { return is_constraint(each.key()); });
}

/// The parts of a JSON pointer in a fragment of a URI (RFC 6901, section 6).
std::string unescaped_pointer(const std::string& reference) {
  std::string pointer;
  for (std::size_t i = 1; i < reference.size(); ++i) {
    std::uint8_t byte = 0;
    const char* first = reference.data() + i + 1;
    const char* last = first + std::min<std::size_t>(2, reference.size() - i - 1);
    const bool is_escape = reference[i] == '%' && last == first + 2 &&
                           std::from_chars(first, last, byte, 16).ptr == last;
    pointer += is_escape ? static_cast<char>(byte) : reference[i];
    if (is_escape) i += 2;
  }
  return pointer;
}

class SchemaReader {
 public:
  SchemaReader(const Schema& root, Grammar& grammar, RegularSets& sets)
      : root_(root),
        grammar_(grammar),
        json_(grammar),
        sets_(sets),
        scope_{grammar_, json_, sets_,
               [this](const Schema& schema, const std::string& where) {
                 return choices_of(schema, where);
               },
               [this](const Schema& schema, const std::string& where) {
                 return flat(schema, where, 0);
               }} {}

  Choices operator()() { return choices_of(root_, "#"); }
  RegularSets::Id strings(const std::string& where) {
    Schema schema = flat(root_, where, 0);
    if (!schema.is_object()) return string_set(scope_, schema, where);
    check_keywords(schema, where);
    if (schema.contains("not")) schema = without_not(scope_, schema, where);
    for (const char* key : {"anyOf", "oneOf"}) {
      if (schema.contains(key)) {
        schema_unsupported(where, std::string("'") + key + "' of strings without quotes");
      }
    }
    return string_set(scope_, schema, where);
  }

 private:
  Choices choices_of(const Schema& schema, const std::string& where) {
    if (schema.is_boolean()) return schema == true ? json_.value() : Choices{};
    if (!schema.is_object()) fail_schema(where, "expected a schema, found " + schema.dump());
    if (schema.contains("$ref") && !has_constraints(schema)) return referred(schema["$ref"], where);
    if (++depth_ > Grammar::kMaxDepth)
      schema_unsupported(where, "nesting of more than 100 schemas");
    Choices choices = of_flat(flat(schema, where, 0), where);
    --depth_;
    return choices;
  }
  Choices referred(const Schema& reference, const std::string& where) {
    const Schema& target = find(reference, where);
    const auto name = reference.get<std::string>();
    const auto [found, is_new] = references_.try_emplace(name);
    if (is_new) {
      found->second = grammar_.declare(name);
      const Symbol rule = found->second;
      grammar_.define(rule, choices_of(target, name));
    }
    return {{references_.at(name)}};
  }
  const Schema& find(const Schema& reference, const std::string& where) {
    const std::string name = reference.is_string() ? reference.get<std::string>() : "";
    const bool is_pointer = name == "#" || name.starts_with("#/");
    if (!is_pointer) schema_unsupported(where, "$ref " + reference.dump() + ": other than '#/...'");
    try {
      return root_.at(Schema::json_pointer(unescaped_pointer(name)));
    } catch (const Schema::exception&) {
      fail_schema(where, "$ref: expected a part of the schema, found '" + name + "'");
    }
  }
  /// The schema without references and "allOf" of its own.
  Schema flat(const Schema& schema, const std::string& where, std::size_t depth) {
    if (!schema.is_object()) return schema;
    check_kinds(schema, where);
    if (depth > Grammar::kMaxDepth)
      schema_unsupported(where, "a schema that refers to itself in 'allOf'");
    if (schema.contains("$ref")) {
      const Schema target = flat_part(find(schema["$ref"], where), where, depth + 1);
      return flat(merged(target, without(schema, "$ref"), where), where, depth + 1);
    }
    if (!schema.contains("allOf")) return schema;
    const Schema& parts = schema["allOf"];
    Schema all = without(schema, "allOf");
    for (const Schema& each : parts) all = merged(all, flat_part(each, where, depth + 1), where);
    return all;
  }
  /// A part of a schema, which may not speak of members that others have named.
  Schema flat_part(const Schema& schema, const std::string& where, std::size_t depth) {
    Schema part = flat(schema, where, depth);
    if (part.is_object() && part.value("unevaluatedProperties", Schema(true)) != true) {
      schema_unsupported(where, "'unevaluatedProperties' in a part of a schema");
    }
    return part;
  }
  Choices of_flat(const Schema& schema, const std::string& where) {
    if (schema.is_boolean()) return schema == true ? json_.value() : Choices{};
    check_keywords(schema, where);
    for (const char* key : {"dependentRequired", "dependencies"}) {
      if (schema.contains(key)) return of_flat(by_dependencies(schema, key, where), where);
    }
    if (schema.contains("not")) return of_flat(without_not(scope_, schema, where), where);
    if (schema.contains("anyOf")) return of_branches(schema, "anyOf", where);
    if (schema.contains("oneOf")) return of_branches(schema, "oneOf", where);
    const Schema values = allowed_values(scope_, schema, where);
    if (!values.is_null()) return of_values(values);
    const std::vector<std::string> types = types_of(schema, where);
    if (types.empty() && !schema.contains("type")) return json_.value();
    std::vector<Choices> all;
    for (const std::string& type : types) all.push_back(of_type(schema, type, where));
    return Grammar::either(std::move(all));
  }
  /// As branches, one for each way to have some of the names and what these require.
  static Schema by_dependencies(const Schema& schema, const std::string& key,
                                const std::string& where) {
    constexpr std::size_t kMaxBranches = 64;
    Schema branches = Schema::array({without(schema, key)});
    for (const auto& [name, others] : schema[key].items()) {
      Schema next = Schema::array();
      Schema required = others;
      required.push_back(name);
      for (const Schema& each : branches) {
        next.push_back(merged(each, {{"properties", {{name, false}}}}, where));
        next.push_back(merged(each, {{"required", required}}, where));
      }
      branches = std::move(next);
      if (branches.size() > kMaxBranches) {
        schema_unsupported(where, "'" + key + "' of more than 6 names");
      }
    }
    return {{"anyOf", branches}};
  }
  /// "Exactly one of these members", as branches that say of each that the others are not there.
  static Schema exclusive(const Schema& branches) {
    Schema names = Schema::array();
    for (const Schema& each : branches) {
      const Schema required = each.is_object() ? each.value("required", Schema()) : Schema();
      const bool is_one_name = required.is_array() && required.size() == 1 &&
                               required[0].is_string() &&
                               each.size() == (each.contains("type") ? 2U : 1U);
      if (!is_one_name || std::ranges::count(names, required[0]) > 0) return branches;
      names.push_back(required[0]);
    }
    Schema all = branches;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        if (i != j) all[i]["properties"][names[j].get<std::string>()] = false;
      }
    }
    return all;
  }
  Choices of_branches(const Schema& schema, const std::string& key, const std::string& where) {
    const Schema branches = key == "oneOf" ? exclusive(schema[key]) : schema[key];
    const Schema base = without(schema, key);
    if (base.contains("oneOf")) schema_unsupported(where, "'anyOf' beside 'oneOf'");
    std::vector<Schema> whole;
    std::vector<Choices> all;
    for (std::size_t i = 0; i < branches.size(); ++i) {
      const std::string place = where + "/" + key + "/" + std::to_string(i);
      const bool is_part = has_constraints(base);
      const Schema branch =
          is_part ? flat_part(branches[i], place, 0) : flat(branches[i], place, 0);
      whole.push_back(merged(base, branch, place));
      all.push_back(choices_of(is_part ? whole.back() : branches[i], place));
    }
    if (key == "oneOf" && branches == schema[key]) check_disjoint(whole, where);
    return Grammar::either(std::move(all));
  }
  /// Whether both are strings, of which none are in both.
  bool are_disjoint_strings(const Schema& a, const Schema& b, const std::string& where) {
    const auto is_string = [&](const Schema& schema) {
      return schema.is_object() && schema.value("type", Schema()) == "string" &&
             !schema.contains("anyOf") && !schema.contains("oneOf") && !schema.contains("not");
    };
    return is_string(a) && is_string(b) &&
           sets_.is_none(sets_.both({string_set(scope_, a, where), string_set(scope_, b, where)}));
  }
  void check_disjoint(const std::vector<Schema>& branches, const std::string& where) {
    for (std::size_t i = 0; i < branches.size(); ++i) {
      for (std::size_t j = i + 1; j < branches.size(); ++j) {
        if (are_disjoint(branches[i], branches[j])) continue;
        if (are_disjoint_strings(branches[i], branches[j], where)) continue;
        schema_unsupported(where, "'oneOf' whose branches " + std::to_string(i) + " and " +
                                      std::to_string(j) +
                                      " a value may fit both (use 'anyOf'): it");
      }
    }
  }
  Choices of_values(const Schema& values) {
    Choices all;
    for (const Schema& each : values) all.push_back(grammar_.text(each.dump())[0]);
    return all;
  }
  Choices of_type(const Schema& schema, const std::string& type, const std::string& where) {
    if (type == "object") return object_choices(scope_, schema, where);
    if (type == "array") return array_choices(scope_, schema, where);
    if (type == "string") return string_choices(scope_, schema, where);
    if (type == "boolean") return Grammar::either({grammar_.text("true"), grammar_.text("false")});
    if (type == "null") return grammar_.text("null");
    return number_choices(scope_, schema, where, type == "integer");
  }

  const Schema& root_;
  Grammar& grammar_;
  JsonRules json_;
  RegularSets& sets_;
  const SchemaScope scope_;
  std::map<std::string, Symbol> references_;
  std::size_t depth_ = 0;
};

Schema parsed(std::string_view schema) {
  with_context("JSON schema", [&] { check_json(schema, {Grammar::kMaxDepth, true}); });
  Schema root = Schema::parse(schema, nullptr, false);
  if (root.is_discarded()) fail(ErrorKind::kFormat, "JSON schema: expected JSON");
  return root;
}

}  // namespace

Choices add_schema(Grammar& grammar, std::string_view schema) {
  RegularSets sets;
  const Schema root = parsed(schema);
  return SchemaReader(root, grammar, sets)();
}

RegularSets::Id strings_of_schema(RegularSets& sets, std::string_view schema,
                                  const std::string& where) {
  Grammar unused;
  const Schema root = parsed(schema);
  return SchemaReader(root, unused, sets).strings(where);
}

Grammar grammar_of_schema(std::string_view schema) {
  Grammar grammar;
  const Symbol rule = grammar.declare("root");
  grammar.define(rule, add_schema(grammar, schema));
  grammar.set_root(rule);
  return grammar;
}

Grammar grammar_of_json_objects() {
  Grammar grammar;
  const JsonRules json(grammar);
  const Symbol rule = grammar.declare("root");
  grammar.define(rule, json.object());
  grammar.set_root(rule);
  return grammar;
}

}  // namespace halftone::lm
