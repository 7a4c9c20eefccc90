// SPDX-License-Identifier: Apache-2.0
// Whole files in and out; an output is complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace halftone {

/// The bytes of a file.
/// @throws Error kIo if it cannot be opened or read, is no regular file, or exceeds 16 GiB
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Writes the bytes to a file without a name in the folder of `path`, flushes it to disk, and puts
/// it in the place of `path`, so that a reader sees the old content or the new, never a part, even
/// if the process is killed. Where there are no files without a name (NFS, no /proc), a process
/// that is killed may leave one whose name begins with that of `path`. A symbolic link is followed.
/// @throws Error kIo if any step fails (no such folder, no permission, full disk); nothing is left
///         behind and `path` is as it was
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);

/// A file that is written piece by piece as write_file() writes whole ones: `path` is what it was
/// until finish(), and stays so if that is never called.
class NewFile {
 public:
  /// @throws Error kIo as write_file()
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// @throws Error kIo as write_file()
  void append(std::span<const std::byte> bytes);
  /// To be called once, after the last append(). @throws Error kIo as write_file()
  void finish();

 private:
  class Unfinished;
  std::filesystem::path path_;
  std::unique_ptr<Unfinished> file_;
};

}  // namespace halftone
