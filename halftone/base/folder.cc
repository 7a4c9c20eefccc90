// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/folder.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "halftone/base/error.h"

namespace halftone {
namespace {

[[noreturn]] void fail_folder(const std::filesystem::path& path, const std::string& reason) {
  fail(ErrorKind::kIo, path.string() + ": cannot write the folder: " + reason);
}

/// The path without a slash at its end.
std::filesystem::path without_slash(const std::filesystem::path& path) {
  return path.has_filename() ? path : path.parent_path();
}

}  // namespace

void NewFolder::check(const std::filesystem::path& path) {
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return;
  if (std::filesystem::is_directory(path, ignored) && std::filesystem::is_empty(path, ignored)) {
    return;
  }
  fail(ErrorKind::kUsage,
       path.string() + ": expected a folder that is new or empty, found one in use; name another");
}

NewFolder::NewFolder(const std::filesystem::path& path) : path_(without_slash(path)) {
  check(path_);
  std::string name = path_.string() + ".XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) fail_folder(path_, std::strerror(errno));
  temporary_ = name;
}

NewFolder::~NewFolder() {
  std::error_code ignored;
  if (!temporary_.empty()) std::filesystem::remove_all(temporary_, ignored);
}

void NewFolder::finish() {
  constexpr mode_t kEverybodyReads = 0755;
  const mode_t hidden = ::umask(0);
  ::umask(hidden);
  if (::chmod(temporary_.c_str(), kEverybodyReads & ~hidden) != 0) {
    fail_folder(path_, std::strerror(errno));
  }
  std::error_code error;
  std::filesystem::rename(temporary_, path_, error);
  if (error) fail_folder(path_, error.message());
  temporary_.clear();
}

}  // namespace halftone
