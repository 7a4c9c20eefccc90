// SPDX-License-Identifier: Apache-2.0
// Decimal numbers between two bounds, as choices of a grammar.
#pragma once

#include <cstdint>
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

// Bounds of 16 digits and more, which languages write for the ends of their types, rule out numbers
// of so many digits too.

/// All integers between the bounds, of up to 18 digits where one is missing.
/// @throws Error kUnsupported if a bound has more than 15 digits and leaves no others
Choices integers_between(Grammar& grammar, const NumberBounds& bounds);

/// Numbers between the bounds, without an exponent, with as many decimals as the bounds have and up
/// to 12 more. Of bounds with more than 15 digits, and of those that do not count themselves, the
/// numbers begin a little inside: at the next one of 15 digits, or of two decimals more.
/// @throws Error as integers_between(), of digits in front of the point
Choices numbers_between(Grammar& grammar, const NumberBounds& bounds);

/// All multiples of a number of units of 10^-decimals between the bounds, with so many decimals.
/// @param step  above 0
/// @throws Error as integers_between()
Choices multiples_between(Grammar& grammar, std::int64_t step, int decimals,
                          const NumberBounds& bounds);

}  // namespace halftone::lm
