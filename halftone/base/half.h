// SPDX-License-Identifier: Apache-2.0
// IEEE 754 binary16 and bfloat16 as stored in files.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace halftone {

/// The binary16 nearest to x, ties to even; overflow becomes infinity, NaN stays NaN.
std::uint16_t half_from_float(float x);
/// Exact.
float float_from_half(std::uint16_t half);
/// All values as binary16 if each of them converts back bit for bit; else nothing.
std::optional<std::vector<std::uint16_t>> exact_halves(std::span<const float> numbers);
/// Exact.
float float_from_bfloat16(std::uint16_t bits);
/// The bfloat16 nearest to x, ties to even; overflow becomes infinity, NaN stays NaN.
std::uint16_t bfloat16_from_float(float x);

}  // namespace halftone
