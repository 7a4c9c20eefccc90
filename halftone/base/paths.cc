// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/paths.h"

#include <algorithm>
#include <system_error>

#include "halftone/base/error.h"

namespace halftone {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail_path(const fs::path& path, const std::error_code& error) {
  fail(ErrorKind::kIo, path.string() + ": cannot open: " + error.message());
}

fs::file_type type_of(const fs::path& path) {
  std::error_code error;
  const fs::file_type type = fs::status(path, error).type();
  if (type == fs::file_type::none) fail_path(path, error);
  return type;
}

}  // namespace

bool path_exists(const fs::path& path) { return type_of(path) != fs::file_type::not_found; }

bool is_folder(const fs::path& path) { return type_of(path) == fs::file_type::directory; }

bool is_file(const fs::path& path) { return type_of(path) == fs::file_type::regular; }

std::uintmax_t bytes_of_file(const fs::path& path) {
  std::error_code error;
  const std::uintmax_t bytes = fs::file_size(path, error);
  if (error) fail_path(path, error);
  return bytes;
}

std::uintmax_t bytes_of_files(const fs::path& path) {
  if (!is_folder(path)) return bytes_of_file(path);
  std::uintmax_t bytes = 0;
  for (const fs::path& file : files_in(path)) bytes += bytes_of_file(file);
  return bytes;
}

std::vector<fs::path> files_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> files;
  fs::directory_iterator entry(folder, error);
  const fs::directory_iterator end;
  while (!error && entry != end) {
    std::error_code ignored;  // a link to nowhere is no regular file
    if (entry->is_regular_file(ignored)) files.push_back(entry->path());
    entry.increment(error);
  }
  if (error) fail_path(folder, error);
  std::ranges::sort(files);
  return files;
}

fs::path full_path(const fs::path& path) {
  std::error_code error;
  const fs::path full = fs::absolute(path, error);
  if (error) fail_path(path, error);
  return full.lexically_normal();
}

}  // namespace halftone
