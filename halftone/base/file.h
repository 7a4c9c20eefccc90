// SPDX-License-Identifier: Apache-2.0
// Reads and writes whole files; an output file is complete or absent.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/base/byte_stream.h"

namespace halftone {

/// The bytes of a file.
/// @throws Error kIo if it cannot be opened or read, is no regular file, or exceeds 16 GiB
std::vector<std::byte> read_file(const std::filesystem::path& path);

/// Writes the bytes to an unnamed file in the folder of `path`, flushes it to disk, and replaces
/// `path` with it. A reader sees the old content or the new, never a part, even if the process is
/// killed. Where unnamed files are not available (NFS, no /proc), a killed process may leave a
/// file whose name begins with that of `path`. Symbolic links are followed.
/// @throws Error kIo if any step fails (no such folder, no permission, full disk); nothing is left
///         behind and `path` is as it was
void write_file(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file(const std::filesystem::path& path, std::string_view text);
/// Writes bytes that are made piece by piece. @throws Error as the source
void write_file(const std::filesystem::path& path, const ByteSource& source);

/// As write_file(), for a file that is written piece by piece: finish() replaces `path`, which is
/// unchanged before, and stays so if finish() is never called.
class NewFile {
 public:
  /// @throws Error kIo as write_file()
  explicit NewFile(std::filesystem::path path);
  ~NewFile();
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  /// @throws Error kIo as write_file()
  void append(std::span<const std::byte> bytes);
  /// All of finish() but the replacement: what needs space has been done. finish() follows.
  /// @throws Error kIo as write_file()
  void complete();
  /// Called once, after the last append(). @throws Error kIo as write_file()
  void finish();

 private:
  class Unfinished;
  std::filesystem::path path_;
  std::unique_ptr<Unfinished> file_;
};

/// Files that are written together: each is complete before the first replaces its path, so that a
/// full disk leaves all as they were. Without finish() nothing is left behind.
class NewFiles {
 public:
  /// Writes the file, whose path is unchanged so far; an empty path is none.
  /// @throws Error as write_file()
  void add(const std::filesystem::path& path, const ByteSource& source);
  void add(const std::filesystem::path& path, std::string_view text);
  /// Called once, after the last file. @throws Error kIo as write_file()
  void finish();

 private:
  std::vector<std::unique_ptr<NewFile>> files_;
};

}  // namespace halftone
