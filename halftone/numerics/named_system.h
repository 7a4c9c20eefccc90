// SPDX-License-Identifier: Apache-2.0
// Number systems as people write them: "int8", "uint4", "fp8".
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/numerics/systems.h"

namespace halftone::numerics {

/// A number system as people write it, and the bits that the text implies.
struct NamedSystem {
  const NumberSystem* system = nullptr;
  std::optional<int> bits{};                ///< of "int8", 8; none of "int" and "e4m3"
  std::optional<std::size_t> group_size{};  ///< of "int4/64", 64: weights that share a scale
  std::string text{};                       ///< as written
};

/// The number system of a text: a name of find_system(); such a name of a system of several numbers
/// of bits with the bits behind it ("int8", "symmetric4", "bfp6"); or, in any case, one of the
/// names that other programs have, such as "uint8", "int4_asym", "fp8", "fp8_e4m3fn", "fp4",
/// "bfloat16" and "half": kSpellings in named_system.cc. Behind a slash is the size of groups.
/// @throws Error kUsage as find_system(), if the system does not have so many bits, or if no number
///         of at least 1 is behind the slash
NamedSystem named_system(std::string_view text);
/// The same; a null system if there is none of the name. @throws Error kUsage for bits and groups
NamedSystem lookup_named_system(std::string_view text);

}  // namespace halftone::numerics
