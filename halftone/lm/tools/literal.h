// SPDX-License-Identifier: Apache-2.0
// Values as models write them in calls: JSON, or literals of Python.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace halftone::lm {

/// Whether a text begins as wanted; it may still be growing.
enum class Fit : std::uint8_t { kNo, kBegun, kYes };

struct Literal {
  Fit fit = Fit::kNo;
  std::size_t end = 0;  ///< behind the literal
  std::string json;     ///< the value
};

/// Reads JSON with what Python writes besides: True, False, None, texts in single quotes; names of
/// members without quotes; and texts between other marks than quotes.
/// @param at    where the value begins, with white space in front or not
/// @param mark  in front of and behind a text; empty: there is none
Literal read_literal(std::string_view text, std::size_t at, std::string_view mark = {});

}  // namespace halftone::lm
