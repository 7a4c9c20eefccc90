// SPDX-License-Identifier: Apache-2.0
// White space in notations and values.
#pragma once

#include <string>
#include <string_view>

namespace halftone::lm {

inline constexpr std::string_view kWhiteSpace = " \t\r\n";

inline bool is_white_space(char c) { return kWhiteSpace.find(c) != std::string_view::npos; }

inline bool is_white_space(std::string_view text) {
  return text.find_first_not_of(kWhiteSpace) == std::string_view::npos;
}

}  // namespace halftone::lm
