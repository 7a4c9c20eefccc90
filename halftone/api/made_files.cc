// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/made_files.h"

#include <algorithm>
#include <fstream>
#include <string>
#include <system_error>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/paths.h"

namespace halftone {
namespace {

/// Whether an earlier export has made a file.
bool has_mark(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::string line;
  std::getline(stream, line);
  return line.find(export_c::kMark) != std::string::npos;
}

/// Nothing of others is overwritten, nor gets our files beside it.
void check_folder(const std::filesystem::path& folder, std::span<const export_c::CFile> to_write) {
  if (!path_exists(folder)) return;
  if (!is_folder(folder)) fail(ErrorKind::kUsage, folder.string() + ": expected a folder");
  const std::vector<std::filesystem::path> files = files_in(folder);
  if (!files.empty() && std::ranges::none_of(files, has_mark)) {
    fail(ErrorKind::kUsage,
         folder.string() + ": has files, and none of an earlier export; name another folder");
  }
  for (const export_c::CFile& file : to_write) {
    const std::filesystem::path path = folder / file.name;
    if (!path_exists(path) || has_mark(path)) continue;
    fail(ErrorKind::kUsage,
         path.string() + ": was not made by an earlier export; move it, or name another folder");
  }
}

}  // namespace

void write_made_files(const std::filesystem::path& folder, std::span<const export_c::CFile> files) {
  check_folder(folder, files);
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) fail(ErrorKind::kIo, folder.string() + ": cannot create: " + error.message());
  NewFiles written;
  for (const export_c::CFile& file : files) written.add(folder / file.name, file.text);
  written.finish();
}

}  // namespace halftone
