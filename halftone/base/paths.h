// SPDX-License-Identifier: Apache-2.0
// Questions about paths. Where the system cannot answer (no permission, a name that is too long, a
// ring of links), the answer is an Error that names the path. All other sources ask here:
// std::filesystem throws exceptions of its own.
#pragma once

#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <vector>

namespace halftone {

/// Whether something is there, links followed. @throws Error kIo if the system cannot say
[[nodiscard]] bool path_exists(const std::filesystem::path& path);
/// Whether a folder is there, links followed. @throws Error kIo if the system cannot say
[[nodiscard]] bool is_folder(const std::filesystem::path& path);
/// Whether a regular file is there, links followed. @throws Error kIo if the system cannot say
[[nodiscard]] bool is_file(const std::filesystem::path& path);

/// @throws Error kIo if there is no such file
[[nodiscard]] std::uintmax_t bytes_of_file(const std::filesystem::path& path);
/// The sum of the regular files of a folder, or the size of a file. @throws Error kIo
[[nodiscard]] std::uintmax_t bytes_of_files(const std::filesystem::path& path);
/// Paths of the regular files in a folder, sorted. @throws Error kIo
[[nodiscard]] std::vector<std::filesystem::path> files_in(const std::filesystem::path& folder);

/// The path from the root, without "." and "..". @throws Error kIo if there is no current folder
[[nodiscard]] std::filesystem::path full_path(const std::filesystem::path& path);

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
