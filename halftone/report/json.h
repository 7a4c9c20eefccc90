// SPDX-License-Identifier: Apache-2.0
// JSON as all verbs print it.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace halftone::report {

using Json = nlohmann::ordered_json;

/// Two spaces of indent; bytes that are not UTF-8, as in names from files, are replaced.
std::string dump(const Json& json);

/// Bits of a number: 3.5 of a code of 7 bits for two weights, else a whole number.
Json bits_json(double bits);

}  // namespace halftone::report
