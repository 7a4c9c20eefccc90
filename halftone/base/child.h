// SPDX-License-Identifier: Apache-2.0
// Other programs.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace halftone {

/// Whether a folder of PATH has a program of this name that may be run.
[[nodiscard]] bool has_program(const std::string& name);

/// Runs a program of PATH and waits for its end. It reads nothing.
/// @param words  its name and its arguments
/// @param log    a file that gets what it prints
/// @return its exit status; 128 and more if a signal has ended it
/// @throws Error kIo if it cannot be started
int run_program(const std::vector<std::string>& words, const std::filesystem::path& log);

/// A folder in the system's folder of temporary files, until it is destroyed.
class TemporaryFolder {
 public:
  /// @throws Error kIo if it cannot be made
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace halftone
