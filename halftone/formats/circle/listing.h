// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

namespace halftone::formats::circle {

/// "first; second; and 3 more": as much of a list as one line bears.
inline std::string listing(std::span<const std::string> entries) {
  constexpr std::size_t kMost = 8;
  std::string text;
  for (const std::string& entry : entries.first(std::min(entries.size(), kMost))) {
    text += (text.empty() ? "" : "; ") + entry;
  }
  if (entries.size() > kMost) text += "; and " + std::to_string(entries.size() - kMost) + " more";
  return text;
}

}  // namespace halftone::formats::circle
