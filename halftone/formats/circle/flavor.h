// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

namespace halftone::formats {

/// The two formats that share their tables and differ in identifier and operator codes.
enum class CircleFlavor {
  kTflite,  ///< identifier TFL3
  kCircle,  ///< identifier CIR0
};

/// The format of a file, from its identifier (bytes 4 to 7).
/// @throws Error kFormat if it is neither or the file is too short
CircleFlavor circle_flavor(std::span<const std::byte> bytes);

}  // namespace halftone::formats
