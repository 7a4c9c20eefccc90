// SPDX-License-Identifier: Apache-2.0
// The number systems that --scheme names, and their levels.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "halftone/numerics/systems.h"

namespace halftone {

/// A row of the table of number systems.
struct NumberSystemInfo {
  std::string name;
  std::string family;
  int min_bits = 0;
  int max_bits = 0;
  std::string blocks;  ///< which weights share a scale unless the recipe says: "groups of 32"
  std::string scales;  ///< how these are stored: "e8m0", "float32 with offset"
  /// How layers are computed with codes of the most bits up to 8: "bits or 8-bit integers", "8-bit
  /// integers", "float32".
  std::string computed;
  /// What numbers beyond the largest become: "saturate", the largest; "nan", infinity or NaN.
  std::string overflow;
  std::string formula;
  std::string source;
};

/// The levels of a number system before scale and offset.
struct NumberSystemLevels {
  NumberSystemInfo system;
  int bits = 0;
  std::vector<float> levels;  ///< [2^bits] by code; empty if levels are learned
};

/// All rows, by family.
std::vector<NumberSystemInfo> list_number_systems();
/// @param bits  0: the most that the system has, up to 8
/// @throws Error kUsage if there is no such system or it does not have so many bits
NumberSystemLevels number_system_levels(std::string_view name, int bits);

}  // namespace halftone
