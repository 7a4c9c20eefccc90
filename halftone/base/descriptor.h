// SPDX-License-Identifier: Apache-2.0
// File descriptors of POSIX. Private to this folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <utility>

namespace halftone {

/// @throws Error kIo "PATH: cannot ACTION: reason"
[[noreturn]] void fail_errno(const std::filesystem::path& path, const char* action, int error);

/// A file descriptor that closes itself.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor();
  [[nodiscard]] int get() const { return fd_; }
  /// Closes now; false (and errno) if the system reports a late write error.
  bool close();

 private:
  int fd_;
};

/// @param path  for messages
/// @throws Error kIo
void write_all(int fd, std::span<const std::byte> bytes, const std::filesystem::path& path);

}  // namespace halftone
