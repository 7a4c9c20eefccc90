// SPDX-License-Identifier: Apache-2.0
// Bytes with their owner: memory, or a mapped file, of which only the pages in use take memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace halftone {

/// Bytes and the owner that keeps them alive. Copies share the memory.
struct SharedBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::size_t readable_behind = 0;  ///< bytes after these that may be read
  bool is_file = false;             ///< of a mapped file

  /// `count` bytes from `first` on. @pre they are within
  [[nodiscard]] SharedBytes part(std::size_t first, std::size_t count) const {
    return {owner, bytes.subspan(first, count), readable_behind + bytes.size() - first - count,
            is_file};
  }
  /// Gives the memory of a mapped file back, where these bytes have whole pages: the next read of
  /// them takes it again, from the file. Other bytes stay. Safe while others read.
  void release_pages() const;
};

/// Takes ownership of bytes in memory.
SharedBytes own_bytes(std::vector<std::byte> bytes);

/// Maps a regular file read-only; at least a page behind it may be read. As with every mapped file,
/// a process that truncates the file terminates this one with SIGBUS.
/// @throws Error kIo if it cannot be opened or mapped, or is not a regular file; kMemory if the
///         address space is too small
SharedBytes map_file(const std::filesystem::path& path);

}  // namespace halftone
