// SPDX-License-Identifier: Apache-2.0
// The values of each type that a JSON schema allows. For sources of this folder.
#pragma once

#include <functional>
#include <string>

#include "halftone/lm/constrain/json_text_rules.h"
#include "halftone/lm/constrain/schema_merge.h"

namespace halftone::lm {

/// Where choices are made, and how those of a schema within are.
struct SchemaScope {
  Grammar& grammar;
  const JsonRules& json;
  std::function<Choices(const Schema&, const std::string& where)> choices_of;
};

// Each: @throws Error as grammar_of_schema()
Choices object_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
Choices array_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
Choices string_choices(const SchemaScope& scope, const Schema& schema, const std::string& where);
/// @param is_integer  else any number
Choices number_choices(const SchemaScope& scope, const Schema& schema, const std::string& where,
                       bool is_integer);

/// A keyword that counts something; `missing` without it.
std::size_t count_of(const Schema& schema, const std::string& key, std::size_t missing,
                     const std::string& where);

}  // namespace halftone::lm
