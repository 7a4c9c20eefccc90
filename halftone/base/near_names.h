// SPDX-License-Identifier: Apache-2.0
// Names that a mistyped one may have meant.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace halftone {

/// The names closest to one that is not among them, for messages: "a, b, c", in the order of
/// `names`, with "and 12 more" behind them if there are more than `count`. Distance is the number
/// of characters to insert, remove or replace.
std::string near_names(std::string_view wanted, std::span<const std::string> names,
                       std::size_t count = 8);

/// The name that a mistyped one may have meant: the closest, if no more than a third of the
/// characters of `wanted`, rounded up, differ.
std::optional<std::string> nearest_name(std::string_view wanted,
                                        std::span<const std::string> names);

/// The same for the end of a message: "; did you mean NAME?", or nothing.
std::string meant_name(std::string_view wanted, std::span<const std::string> names);

}  // namespace halftone
