// SPDX-License-Identifier: Apache-2.0
// What a JSON schema allows, as a grammar.
#pragma once

#include <string>
#include <string_view>

#include "halftone/lm/constrain/grammar.h"
#include "halftone/lm/constrain/regular_sets.h"

namespace halftone::lm {

/// Every text of the grammar is valid under the schema; some valid texts are none of it: members
/// come in the order of the schema, and others only where it says "additionalProperties" or
/// nothing of its members. Follows the draft 2020-12 of JSON Schema and the tuples of draft 7:
/// type, properties, patternProperties, propertyNames, required, dependentRequired,
/// additionalProperties, minProperties of 1, maxProperties, items, prefixItems, minItems, maxItems,
/// uniqueItems of a few constants, enum, const, anyOf, allOf, oneOf of branches that no value fits
/// two of, "not" of types, constants and strings, $ref within the schema (also to itself),
/// minLength, maxLength, pattern, format (date, time, date-time, duration, uuid, email, ipv4, ipv6,
/// hostname, uri), bounds of numbers, multipleOf. A format that no text of the pattern beside it
/// has says nothing, and neither do keywords that it does not know, as the draft asks. Left out are
/// texts of more than 4096 characters beside a pattern and "maxLength", lists of more than 10,000
/// items beside "maxItems", and numbers of 16 digits and more beside a bound of so many.
/// @throws Error kFormat of what is no schema; kUnsupported of keywords that would rule out what
///         the grammar gives; kUsage if no value fits. They say where.
Grammar grammar_of_schema(std::string_view schema);
/// The same as a part of a larger grammar.
/// @throws Error kFormat, kUnsupported as grammar_of_schema(); kUsage as Grammar's functions
Choices add_schema(Grammar& grammar, std::string_view schema);

/// The strings that a schema allows, without quotes and escapes.
/// @param where  in a larger schema, for errors
/// @throws Error as add_schema(); kUnsupported of "anyOf" and "oneOf"
RegularSets::Id strings_of_schema(RegularSets& sets, std::string_view schema,
                                  const std::string& where);

/// Any JSON object.
Grammar grammar_of_json_objects();

}  // namespace halftone::lm
