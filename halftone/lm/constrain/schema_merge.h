// SPDX-License-Identifier: Apache-2.0
// JSON schemas as values: their types, and two of them as one. For sources of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace halftone::lm {

/// Members keep their order.
using Schema = nlohmann::ordered_json;

/// "JSON schema, at WHERE: expected ..., found ...".
[[noreturn]] void fail_schema(const std::string& where, const std::string& what);
[[noreturn]] void schema_unsupported(const std::string& where, const std::string& what);

/// The types that a schema names, or else those that its keywords are about; empty: any.
std::vector<std::string> types_of(const Schema& schema, const std::string& where);

/// Whether a value is of a type.
bool is_of_type(const Schema& value, const std::string& type);

/// What both schemas allow: "allOf" of two.
/// @throws Error kUnsupported where one schema cannot say it
Schema merged(const Schema& a, const Schema& b, const std::string& where);

/// Whether it is certain that no value fits both: they are of other types, or of other constants,
/// or objects that must have a member of which this is certain.
bool are_disjoint(const Schema& a, const Schema& b);

}  // namespace halftone::lm
