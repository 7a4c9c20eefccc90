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

/// Which of the two a file is, by its identifier (bytes 4 to 7).
/// @throws Error kFormat if it is neither or too short to say
CircleFlavor circle_flavor(std::span<const std::byte> bytes);

}  // namespace halftone::formats
