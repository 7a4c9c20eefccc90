// SPDX-License-Identifier: Apache-2.0
// A file that keeps measured choices, so that an interrupted run continues. Private to this folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "halftone/compress/sensitivity/sensitivity.h"

namespace halftone {

class SensitivityState {
 public:
  /// Reads the file if there is one.
  /// @param key     of what the measurement depends on
  /// @param writes  whether this process writes the file
  /// @throws Error kFormat if it is not such a file, or has another key
  SensitivityState(std::filesystem::path path, std::string key, bool writes);

  [[nodiscard]] std::optional<compress::ChoiceSensitivity> find(const std::string& choice) const;
  /// Keeps a choice. @throws Error kIo
  void add(const compress::ChoiceSensitivity& choice);

 private:
  void read();
  [[nodiscard]] std::string text() const;

  std::filesystem::path path_;
  std::string key_;
  bool writes_;
  std::map<std::string, compress::ChoiceSensitivity> choices_;
};

}  // namespace halftone
