// SPDX-License-Identifier: Apache-2.0
// Which samples are read.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Which samples of a data set, and how pixels are scaled.
  struct DataOptions {
    std::string split = "train";         ///< of a folder of IDX files: "train" or "test"
    std::optional<std::size_t> limit{};  ///< only so many samples, from the front
    double scale = 1.0 / 255;            ///< factor for uint8 pixels
  };

}  // namespace v0
}  // namespace halftone
