// SPDX-License-Identifier: Apache-2.0
// A file that keeps measured losses, so that an interrupted run continues.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>

#include "halftone/accel/explore/sensitivity.h"

namespace halftone::accel {

class SensitivityState {
 public:
  /// Reads the file if there is one.
  /// @param path  empty: nothing is kept
  /// @throws Error kFormat if it is not such a file, or of another measurement
  SensitivityState(std::filesystem::path path, const Measurement& on);

  [[nodiscard]] std::optional<Loss> find(const LayerChoice& choice) const;
  /// Keeps a loss; the first rank writes the file. @throws Error kIo
  void add(const LayerChoice& choice, const Loss& loss);

 private:
  void read();
  [[nodiscard]] std::string text() const;

  std::filesystem::path path_;
  bool writes_;
  std::string key_;  ///< hash of network, data, recipe and seed
  std::map<std::pair<std::string, BitPair>, Loss> losses_;
};

}  // namespace halftone::accel
