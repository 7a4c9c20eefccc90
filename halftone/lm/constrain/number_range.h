// SPDX-License-Identifier: Apache-2.0
// Decimal numbers between two bounds, as choices of a grammar.
#pragma once

#include <optional>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// What JSON Schema says of a number.
struct NumberBounds {
  std::optional<double> least;
  std::optional<double> most;
  bool is_above_least = false;  ///< the least itself does not count
  bool is_below_most = false;
};

/// All integers between the bounds, of up to 18 digits where one is missing.
/// @throws Error kUnsupported if a bound has more than 15 digits
Choices integers_between(Grammar& grammar, const NumberBounds& bounds);

/// Numbers between the bounds, without an exponent, with as many decimals as the bounds have and up
/// to 12 more. Of bounds with more than 15 digits, and of those that do not count themselves, the
/// numbers begin a little inside: at the next one of 15 digits, or of two decimals more.
/// @throws Error kUnsupported if a bound has more than 15 digits in front of the point
Choices numbers_between(Grammar& grammar, const NumberBounds& bounds);

}  // namespace halftone::lm
