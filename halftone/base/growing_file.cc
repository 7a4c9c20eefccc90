// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/growing_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone {
namespace {

/// Non-blocking, because opening a pipe would wait for its reader.
Descriptor open_to_write(const std::filesystem::path& path, int flags) {
  Descriptor file(::open(path.c_str(), O_WRONLY | O_CLOEXEC | O_NONBLOCK | flags));
  if (file.get() < 0) fail_errno(path, "write", errno);
  return file;
}

}  // namespace

GrowingFile::GrowingFile(std::filesystem::path path, std::uint64_t size_bytes)
    : path_(std::move(path)), file_(open_to_write(path_, O_APPEND)), size_bytes_(size_bytes) {
  check_size();
}

void GrowingFile::check_size() const {
  struct stat status {};
  if (::fstat(file_.get(), &status) != 0) fail_errno(path_, "write", errno);
  const auto found = static_cast<std::uint64_t>(status.st_size);
  if (S_ISREG(status.st_mode) && found == size_bytes_) return;
  fail(ErrorKind::kIo, path_.string() + ": cannot write: expected " + std::to_string(size_bytes_) +
                           " bytes, found " + std::to_string(found) +
                           ": another process writes this file");
}

void GrowingFile::append(std::span<const std::span<const std::byte>> pieces) {
  check_size();
  std::uint64_t size = size_bytes_;
  try {
    for (const std::span<const std::byte> piece : pieces) {
      write_all(file_.get(), piece, path_);
      size += piece.size();
    }
    if (::fsync(file_.get()) != 0) fail_errno(path_, "write", errno);
  } catch (const Error&) {
    // If that fails too, a reader finds a part of the last record.
    static_cast<void>(::ftruncate(file_.get(), static_cast<off_t>(size_bytes_)) == 0);
    throw;
  }
  size_bytes_ = size;
}

void shorten_file(const std::filesystem::path& path, std::uint64_t size_bytes) {
  const Descriptor file = open_to_write(path, 0);
  if (::ftruncate(file.get(), static_cast<off_t>(size_bytes)) != 0 || ::fsync(file.get()) != 0) {
    fail_errno(path, "write", errno);
  }
}

}  // namespace halftone
