// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_function.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kMaxReferences = 100;
constexpr std::array<std::string_view, 2> kBranches = {"anyOf", "oneOf"};
/// Members that say nothing of a value.
constexpr std::array<std::string_view, 7> kComments = {
    "description", "title", "default", "examples", "deprecated", "$comment", "nullable"};
constexpr std::array<const char*, kNumJsonTypes> kTypeNames = {"string", "number", "boolean",
                                                               "null",   "array",  "object"};

[[noreturn]] void fail_parameter(ErrorKind kind, const std::string& name, const std::string& what) {
  fail(kind, "JSON schema, at '#/properties/" + name + "': " + what);
}

/// Splits the schema of a parameter into schemas of one type each.
class Alternatives {
 public:
  Alternatives(const OrderedJson& root, const std::string& name) : root_(root), name_(name) {}

  std::vector<TypedSchema> operator()(const OrderedJson& schema) {
    add(schema, 0);
    return std::move(found_);
  }

 private:
  void add(const OrderedJson& schema, std::size_t depth) {
    if (depth > kMaxReferences) {
      fail_parameter(ErrorKind::kUnsupported, name_, "nesting of more than 100 schemas");
    }
    if (schema == true) return add(OrderedJson::object(), depth);
    if (!schema.is_object()) {
      fail_parameter(ErrorKind::kFormat, name_, "expected a schema, found " + schema.dump());
    }
    if (schema.contains("$ref")) return add(referred(schema), depth + 1);
    for (const std::string_view key : kBranches) {
      if (schema.contains(key)) return add_branches(schema, std::string(key), depth);
    }
    add_types(schema);
  }
  void add_branches(const OrderedJson& schema, const std::string& key, std::size_t depth) {
    for (const auto& [other, value] : schema.items()) {
      if (other != key && std::ranges::find(kComments, other) == kComments.end()) {
        fail_parameter(ErrorKind::kUnsupported, name_, "'" + other + "' beside '" + key + "'");
      }
    }
    for (const OrderedJson& branch : schema[key]) add(branch, depth + 1);
  }
  OrderedJson referred(const OrderedJson& schema) {
    const OrderedJson& reference = schema["$ref"];
    const std::string text = reference.is_string() ? reference.get<std::string>() : "";
    try {
      if (text.starts_with("#/")) return root_.at(OrderedJson::json_pointer(text.substr(1)));
    } catch (const OrderedJson::exception&) {
      // Said below.
    }
    fail_parameter(ErrorKind::kUnsupported, name_,
                   "$ref " + reference.dump() + ": expected a part of the schema, '#/...'");
  }
  void add_types(const OrderedJson& schema) {
    if (schema.contains("const")) {
      add_values(schema, OrderedJson::array({schema["const"]}));
    } else if (schema.contains("enum") && schema["enum"].is_array()) {
      add_values(schema, schema["enum"]);
    } else if (!schema.contains("type")) {
      for (const char* name : kTypeNames) add_type(schema, name);
    } else if (schema["type"].is_array()) {
      for (const OrderedJson& each : schema["type"]) add_type(schema, each);
    } else {
      add_type(schema, schema["type"]);
    }
  }
  /// The values that are allowed, by their type.
  void add_values(const OrderedJson& schema, const OrderedJson& values) {
    std::array<OrderedJson, kNumJsonTypes> by_type;
    for (const OrderedJson& value : values) {
      by_type[static_cast<std::size_t>(type_of_json(value.dump()))].push_back(value);
    }
    for (std::size_t i = 0; i < kNumJsonTypes; ++i) {
      if (by_type[i].is_null()) continue;
      OrderedJson typed = schema;
      typed.erase("const");
      typed["enum"] = by_type[i];
      add_schema(static_cast<JsonType>(i), std::move(typed));
    }
  }
  void add_type(const OrderedJson& schema, const OrderedJson& type) {
    OrderedJson typed = schema;
    typed["type"] = type;
    const auto found = std::ranges::find(kTypeNames, type == "integer" ? "number" : type);
    if (found == kTypeNames.end()) {
      fail_parameter(ErrorKind::kFormat, name_, "type: expected a type, found " + type.dump());
    }
    add_schema(static_cast<JsonType>(found - kTypeNames.begin()), std::move(typed));
  }
  void add_schema(JsonType type, OrderedJson schema) {
    for (const char* key : {"$defs", "definitions"}) {
      if (root_.contains(key) && !schema.contains(key)) schema[key] = root_[key];
    }
    found_.push_back({type, schema.dump()});
  }

  const OrderedJson& root_;
  const std::string& name_;
  std::vector<TypedSchema> found_;
};

}  // namespace

JsonType type_of_json(std::string_view json) {
  switch (json.front()) {
    case '"':
      return JsonType::kString;
    case '{':
      return JsonType::kObject;
    case '[':
      return JsonType::kArray;
    case 't':
    case 'f':
      return JsonType::kBoolean;
    case 'n':
      return JsonType::kNull;
    default:
      return JsonType::kNumber;
  }
}

std::vector<FunctionParameter> parameters_of(const ToolFunction& function) {
  if (function.parameters.empty()) return {};
  check_json(function.parameters);
  const OrderedJson root = OrderedJson::parse(function.parameters);
  if (!root.is_object()) {
    fail(ErrorKind::kFormat, "JSON schema: expected an object, found " + root.dump());
  }
  const OrderedJson properties = root.value("properties", OrderedJson::object());
  const OrderedJson required = root.value("required", OrderedJson::array());
  if (!properties.is_object() || !required.is_array()) {
    fail(ErrorKind::kFormat,
         "JSON schema: expected 'properties', an object, and 'required', a list");
  }
  std::vector<FunctionParameter> parameters;
  for (const auto& [name, schema] : properties.items()) {
    const bool is_required = std::ranges::find(required, OrderedJson(name)) != required.end();
    parameters.push_back({name, is_required, Alternatives(root, name)(schema)});
  }
  return parameters;
}

}  // namespace halftone::lm
