// SPDX-License-Identifier: Apache-2.0
// A file to which bytes are appended; and file descriptors of POSIX, private to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
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

/// An existing file that grows at its end. What it has is never written again.
class GrowingFile {
 public:
  /// @param size_bytes  how long the caller knows the file to be
  /// @throws Error kIo if it cannot be opened or has another size: another process writes it
  GrowingFile(std::filesystem::path path, std::uint64_t size_bytes);

  /// Appends the pieces, one behind the other, and flushes them to disk.
  /// @throws Error kIo if that fails, or if the file was changed since; what was written of the
  ///         pieces is removed again, as far as the system does that
  void append(std::span<const std::span<const std::byte>> pieces);
  [[nodiscard]] std::uint64_t size_bytes() const { return size_bytes_; }

 private:
  void check_size() const;

  std::filesystem::path path_;
  Descriptor file_;
  std::uint64_t size_bytes_;
};

/// Removes what a file has behind its first bytes, and flushes that to disk.
/// @throws Error kIo
void shorten_file(const std::filesystem::path& path, std::uint64_t size_bytes);

}  // namespace halftone
