// SPDX-License-Identifier: Apache-2.0
// The values of each type that a JSON schema allows. For sources of this folder.
#pragma once

#include <functional>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/constrain/json_text_rules.h"
#include "halftone/lm/constrain/regular_sets.h"
#include "halftone/lm/constrain/schema_merge.h"

namespace halftone::lm {

/// Where choices are made, and how those of a schema within are.
struct SchemaScope {
  Grammar& grammar;
  const JsonRules& json;
  RegularSets& sets;
  std::function<Choices(const Schema&, const std::string& where)> choices_of;
  /// The schema without references and "allOf".
  std::function<Schema(const Schema&, const std::string& where)> flat;
};

// Each: @throws Error as grammar_of_schema()
Choices object_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
Choices array_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
Choices string_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
/// @param is_integer  else any number
Choices number_choices(const SchemaScope& scope, const Schema& schema, const std::string& where,
                       bool is_integer);

/// The strings that a schema allows, without their quotes.
RegularSets::Id string_set(const SchemaScope& scope, const Schema& schema,
                           const std::string& where);
/// The strings of a set, as JSON writes them.
/// @throws Error as RegularSets::choices()
Choices text_choices(const SchemaScope& scope, RegularSets::Id set);
/// The values that a schema lists and that the rest of it allows; null if it lists none.
/// @throws Error kUnsupported where the rest says something of the members of a value
Schema allowed_values(const SchemaScope& scope, const Schema& schema, const std::string& where);
/// The schema without "not": what that rules out, its types, values and strings leave out.
/// @throws Error kUnsupported where they cannot
Schema without_not(const SchemaScope& scope, const Schema& schema, const std::string& where);
/// Whether a schema's bounds allow a number.
bool allows_number(const Schema& schema, double number, const std::string& where);

/// Says where in a schema an error is.
template <typename Body>
auto at_place(const std::string& where, Body&& body) {
  return with_context("JSON schema, at '" + where + "'", std::forward<Body>(body));
}

/// A keyword that counts something; `missing` without it.
std::size_t count_of(const Schema& schema, const std::string& key, std::size_t missing,
                     const std::string& where);

}  // namespace halftone::lm
