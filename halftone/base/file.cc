// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "halftone/base/error.h"

namespace halftone {
namespace {

[[noreturn]] void fail_errno(const std::filesystem::path& path, const char* action, int error) {
  fail(ErrorKind::kIo, path.string() + ": cannot " + action + ": " + std::strerror(error));
}

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int get() const { return fd_; }
  /// Closes now; false (and errno) if the system reports a late write error.
  bool close() {
    const int fd = fd_;
    fd_ = -1;
    return ::close(fd) == 0;
  }

 private:
  int fd_;
};

/// Removes the temporary file unless it was renamed into place.
class TemporaryFile {
 public:
  explicit TemporaryFile(std::string name) : name_(std::move(name)) {}
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());
  }
  [[nodiscard]] const std::string& name() const { return name_; }
  void release() { name_.clear(); }

 private:
  std::string name_;
};

void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      fail_errno(path, "write", errno);
    }
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
}

}  // namespace

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  constexpr off_t kMostBytes = off_t{1} << 34;
  // Non-blocking, or opening a pipe would wait for its writer; regular files do not care.
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (file.get() < 0) fail_errno(path, "open", errno);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) fail_errno(path, "read", errno);
  if (!S_ISREG(status.st_mode)) fail(ErrorKind::kIo, path.string() + ": is not a regular file");
  if (status.st_size > kMostBytes) {
    fail(ErrorKind::kIo, path.string() + ": expected at most 16 GiB, found " +
                             std::to_string(status.st_size) + " bytes");
  }
  std::vector<std::byte> bytes(static_cast<std::size_t>(status.st_size));
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t got = ::read(file.get(), bytes.data() + done, bytes.size() - done);
    if (got < 0) {
      if (errno == EINTR) continue;
      fail_errno(path, "read", errno);
    }
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  bytes.resize(done);
  return bytes;
}

void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes) {
  struct stat status {};
  const bool exists = ::stat(path.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    fail(ErrorKind::kIo, path.string() + ": cannot write: is not a regular file");
  }
  std::string name = path.string() + ".XXXXXX";
  Descriptor file(::mkostemp(name.data(), O_CLOEXEC));
  if (file.get() < 0) fail_errno(path, "write", errno);
  TemporaryFile temporary(name);
  // mkostemp makes the file private; give it what a plain open() would have given.
  const mode_t mask = ::umask(0);
  ::umask(mask);
  const mode_t mode = exists ? status.st_mode & 0777 : 0666 & ~mask;
  if (::fchmod(file.get(), mode) != 0) fail_errno(path, "write", errno);
  write_all(file.get(), bytes, path);
  if (::fsync(file.get()) != 0) fail_errno(path, "write", errno);
  if (!file.close()) fail_errno(path, "write", errno);
  if (::rename(temporary.name().c_str(), path.c_str()) != 0) fail_errno(path, "write", errno);
  temporary.release();
}

void write_file(const std::filesystem::path& path, std::string_view text) {
  write_file(path, std::as_bytes(std::span(text.data(), text.size())));
}

}  // namespace halftone
