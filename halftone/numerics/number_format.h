// SPDX-License-Identifier: Apache-2.0
// A number system with its bits and blocks: what numbers are rounded to.
#pragma once

#include <string>
#include <string_view>

#include "halftone/numerics/systems.h"

namespace halftone::numerics {

/// A format of numbers whose scales follow from the numbers themselves, by the rule of the system.
struct NumberFormat {
  const NumberSystem* system = nullptr;  ///< null: float32, nothing is rounded
  int bits = 32;
  BlockShape blocks{};

  [[nodiscard]] bool is_float32() const { return system == nullptr; }
  bool operator==(const NumberFormat&) const = default;
};

/// "fp32"; the name of a system of one number of bits, as "bf16" or "mxfp8_e4m3"; or a name and the
/// bits, as "int8". Blocks are the groups of the system, or the whole tensor if it has none.
/// @throws Error kUsage with the formats that there are; or if levels are learned or vectors, which
/// no
///         rule gives
NumberFormat parse_number_format(std::string_view text);
/// The text that parse_number_format() parses to the format.
std::string to_string(const NumberFormat& format);

}  // namespace halftone::numerics
