// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 and bfloat16 as stored in files.
#pragma once

#include <cstdint>

namespace halftone {

/// The binary16 nearest to x, ties to even; overflow becomes infinity, NaN stays NaN.
std::uint16_t half_from_float(float x);
/// Exact.
float float_from_half(std::uint16_t half);
/// Exact.
float float_from_bfloat16(std::uint16_t bits);

}  // namespace halftone
