// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdlib>
#include <filesystem>

namespace halftone {

/// Where programs keep what they can make again: $XDG_CACHE_HOME/halftone, or ~/.cache/halftone;
/// empty if neither variable is set.
inline std::filesystem::path cache_folder() {
  const auto folder = [](const char* variable) -> std::filesystem::path {
    const char* value = std::getenv(variable);
    return value == nullptr ? "" : value;
  };
  std::filesystem::path cache = folder("XDG_CACHE_HOME");
  if (cache.empty() && !folder("HOME").empty()) cache = folder("HOME") / ".cache";
  return cache.empty() ? cache : cache / "halftone";
}

}  // namespace halftone
