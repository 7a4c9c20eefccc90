// SPDX-License-Identifier: Apache-2.0
// Results as lists of fields: their JSON, the classes of Python and docs/reference/results.md are
// made of these lists.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/report/json.h"

namespace halftone::report {

/// A field of a result.
struct ResultField {
  const char* key;  ///< in JSON, a contract; and the attribute in Python
  Json value;
  const char* text = "";  ///< what it is, without a full stop; empty: the key says it
};
using ResultFields = std::vector<ResultField>;

/// An object with these keys, in their order.
Json json_of(const ResultFields& fields);

/// A list of objects. @param fields_of  gives the fields of a row
template <typename Rows, typename FieldsOf>
Json rows_json(const Rows& rows, const FieldsOf& fields_of) {
  Json list = Json::array();
  for (const auto& row : rows) list.push_back(json_of(fields_of(row)));
  return list;
}

/// Null for nothing.
template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}
/// Null for an empty text.
inline Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

/// The fields of results, by the class that they are in Python. Their values mean nothing.
using ResultClasses = std::vector<std::pair<const char*, ResultFields>>;
ResultClasses network_results();      ///< of inspect, quantize, eval
ResultClasses sensitivity_results();  ///< of sensitivity
ResultClasses budget_results();       ///< of quantize --budget
ResultClasses language_results();     ///< of language models
ResultClasses explore_results();
ResultClasses crossbar_results();
ResultClasses hardware_results();  ///< of estimate, explore, crossbar
ResultClasses tuning_results();
ResultClasses training_results();  ///< of train and distill, also of language models

}  // namespace halftone::report
