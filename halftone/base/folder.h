// SPDX-License-Identifier: Apache-2.0
// Makes whole folders; an output folder is complete or absent.
#pragma once

#include <filesystem>

namespace halftone {

/// A folder that is filled under a temporary name beside its own, which finish() gives it. Without
/// finish() nothing is left behind.
class NewFolder {
 public:
  /// @throws Error kUsage if something is there that is not an empty folder; kIo if the folder in
  ///         which it is to be cannot be written
  explicit NewFolder(const std::filesystem::path& path);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  /// @throws Error kUsage as the constructor
  static void check(const std::filesystem::path& path);

  /// Where the files are written.
  [[nodiscard]] const std::filesystem::path& temporary() const { return temporary_; }
  /// Called once, after the last file is complete. @throws Error kIo
  void finish();

 private:
  std::filesystem::path path_;
  std::filesystem::path temporary_;
};

}  // namespace halftone
