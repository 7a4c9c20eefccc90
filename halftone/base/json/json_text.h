// SPDX-License-Identifier: Apache-2.0
// What is wrong with a text in JSON before its values are made.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halftone {

struct JsonBounds {
  std::size_t depth = 100;       ///< objects and lists in each other, at most
  bool has_unique_keys = false;  ///< whether an object may have each key once only
};

/// In time linear in the text but for the look-up of keys. (A callback of nlohmann's parser takes
/// quadratic time in an object of objects.)
/// @throws Error kFormat "expected JSON, found ...", or that says which bound was broken
void check_json(std::string_view text, const JsonBounds& bounds = {});

/// The text with numbers that Python writes and JSON lacks, Infinity, -Infinity and NaN, as the
/// objects {"__float__": "Infinity"} that the package transformers writes since version 5.
std::string json_of_python(std::string_view text);

}  // namespace halftone
