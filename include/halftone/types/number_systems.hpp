// SPDX-License-Identifier: Apache-2.0
// The number systems, and how arrays are encoded.
#pragma once

#include <cstddef>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// A row of the table of number systems: docs/number_systems.md.
  struct NumberSystem {
    std::string name;    ///< as recipes name it
    std::string family;  ///< "learned", "integer", "float", ...
    int min_bits = 0;
    int max_bits = 0;
    std::string formula;  ///< of a level
    std::string source;
    std::string blocks{};  ///< which weights share a scale unless the recipe says: "groups of 32"
    std::string scales{};  ///< how these are stored: "e8m0", "float32 with offset"
    /// How layers are computed with codes of the most bits up to 8: "bits or 8-bit integers",
    /// "8-bit integers", "float32".
    std::string computed{};
    /// What numbers beyond the largest become: "saturate", the largest; "nan", infinity or NaN.
    std::string overflow{};
  };

  /// How an array becomes codes.
  struct ArrayFormat {
    std::string system = "basis";
    int bits = 0;               ///< 0: the most that the system has, up to 8
    bool offset = true;         ///< of learned levels
    std::string granularity{};  ///< "tensor", "channel" (a row) or "group"; empty: the system's own
    std::size_t group_size = 0;  ///< of "group"; 0: that of the system, or 32
  };

}  // namespace v0
}  // namespace halftone
