// SPDX-License-Identifier: Apache-2.0
// Checks of files, and lists of what they lack.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>

#include "halftone/base/error.h"

namespace halftone::formats::circle {

/// Checks a requirement on a file. @throws Error kFormat with the message unless `holds`
inline void check(bool holds, const std::string& message) {
  if (!holds) fail(ErrorKind::kFormat, message);
}

/// "first; second; and 3 more": as many entries as fit one line.
inline std::string listing(std::span<const std::string> entries) {
  constexpr std::size_t kMax = 8;
  std::string text;
  for (const std::string& entry : entries.first(std::min(entries.size(), kMax))) {
    text += (text.empty() ? "" : "; ") + entry;
  }
  if (entries.size() > kMax) text += "; and " + std::to_string(entries.size() - kMax) + " more";
  return text;
}

}  // namespace halftone::formats::circle
