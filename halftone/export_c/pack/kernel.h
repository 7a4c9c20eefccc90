// SPDX-License-Identifier: Apache-2.0
// The kernels of text/ that multiply weights.
#pragma once

#include <cstdint>
#include <string_view>

namespace halftone::export_c {

/// The kernels that multiply weights of many inputs with those of one output position. Each is a
/// file of text/, whose comment says how its weights lie.
enum class Kernel : std::uint8_t {
  kBits,        ///< planes by planes: counts of differing bits
  kSigns,       ///< a plane by planes, eight products of a multiplication
  kPlanes,      ///< digits by planes, four products of a multiplication
  kDigits2,     ///< digits by four evenly spaced levels, four products of a multiplication
  kLevels1,     ///< 8 bits by two levels, two products of a multiplication
  kLevels11,    ///< 8 bits by the four sums of two coefficients
  kLevels2,     ///< 8 bits by four evenly spaced levels
  kLevels4,     ///< 8 bits by up to 16 evenly spaced levels
  kLevelTable,  ///< 8 bits by up to 16 levels of any kind
  kBytes,       ///< 8 bits by bytes
};
inline constexpr std::size_t kNumKernels = 10;

/// "levels_1": the stem of its file; the function is "ht_levels_1".
std::string_view name_of(Kernel kernel);

}  // namespace halftone::export_c
