// SPDX-License-Identifier: Apache-2.0
// JSON schemas as values: their types, and two of them as one. For sources of this folder.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

/// Members keep their order.
using Schema = nlohmann::ordered_json;

/// Keywords of ours, which no text in UTF-8 has: patterns that "allOf" adds to the first, and
/// schemas whose strings "not" rules out.
inline constexpr const char* kMorePatterns = "\xFFpatterns";
inline constexpr const char* kExcluded = "\xFFnot";

/// "JSON schema, at WHERE: expected ..., found ...".
[[noreturn]] void fail_schema(const std::string& where, const std::string& what);
[[noreturn]] void schema_unsupported(const std::string& where, const std::string& what);

/// Whether a keyword says what a value may be.
bool is_constraint(std::string_view key);
/// The type that a keyword is about, if it is one alone.
std::optional<std::string> type_of_keyword(std::string_view key);
/// Checks that keywords have values of their kinds, so that functions here may read these.
void check_kinds(const Schema& schema, const std::string& where);
/// @throws Error kUnsupported of keywords that no function here follows
void check_keywords(const Schema& schema, const std::string& where);

Schema without(Schema schema, std::string_view key);

/// The types that a schema names, or else those that its keywords are about; empty: any.
std::vector<std::string> types_of(const Schema& schema, const std::string& where);

/// The values that a schema lists; null if it does not.
Schema values_of(const Schema& schema);

/// Whether a value is of a type.
bool is_of_type(const Schema& value, const std::string& type);

/// What both schemas allow: "allOf" of two.
/// @throws Error kUnsupported where one schema cannot say it
Schema merged(const Schema& a, const Schema& b, const std::string& where);

/// Whether it is certain that no value fits both: they are of other types, or of other constants,
/// or objects that must have a member of which this is certain.
bool are_disjoint(const Schema& a, const Schema& b);

}  // namespace halftone::lm
