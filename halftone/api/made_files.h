// SPDX-License-Identifier: Apache-2.0
// Folders of files that an export has made.
#pragma once

#include <filesystem>
#include <span>

#include "halftone/export_c/export_c.h"

namespace halftone {

/// Writes files to a folder, all or none. Creates the folder if it is missing. Files of an earlier
/// export are replaced: those with export_c::kMark in their first line.
/// @throws Error kUsage if the folder has files, none of them by an earlier export, or if a file to
///         write was not made by one; kIo if it cannot be written
void write_made_files(const std::filesystem::path& folder, std::span<const export_c::CFile> files);

}  // namespace halftone
