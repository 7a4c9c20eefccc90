// SPDX-License-Identifier: Apache-2.0
// Contents of a file, mapped rather than read, so that only the pages in use take memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace halftone::data {

/// Bytes and the owner that keeps them alive. Copies share the memory, because the samples and
/// labels of a data set may come from one file.
struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// Takes ownership of bytes in memory.
FileBytes own_bytes(std::vector<std::byte> bytes);

/// Maps a regular file read-only. As with every mapped file, a process that truncates the file
/// terminates this one with SIGBUS.
/// @throws Error kIo if it cannot be opened or mapped, or is not a regular file
FileBytes map_file(const std::filesystem::path& path);

}  // namespace halftone::data
