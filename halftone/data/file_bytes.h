// SPDX-License-Identifier: Apache-2.0
// The content of a file, mapped rather than read, so that only what is used takes memory.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <vector>

namespace halftone::data {

/// Bytes and whatever keeps them alive. Copies share the memory: samples of a data set and the
/// labels beside them may come from one file.
struct FileBytes {
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
};

/// Bytes in memory.
FileBytes own_bytes(std::vector<std::byte> bytes);

/// The bytes of a regular file, mapped read-only. If another process shortens the file, this one
/// ends
/// (SIGBUS), as with every mapped file.
/// @throws Error kIo if it cannot be opened or mapped, or is no regular file
FileBytes map_file(const std::filesystem::path& path);

}  // namespace halftone::data
