// SPDX-License-Identifier: Apache-2.0
// Whether a file can be written, before long work. Private to this folder.
#pragma once

#include <filesystem>

#include "halftone/base/file.h"

namespace halftone {

/// Fails early if a file cannot be written, and leaves it as it is; an empty path can.
/// @throws Error as NewFile
inline void check_writable(const std::filesystem::path& path) {
  if (!path.empty()) const NewFile file(path);
}

}  // namespace halftone
