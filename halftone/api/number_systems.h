// SPDX-License-Identifier: Apache-2.0
// The number systems that --scheme names, and their levels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/numerics/systems.h"
#include "halftone/types/number_systems.hpp"

namespace halftone {

using NumberSystemInfo = v0::NumberSystem;

/// The levels of a number system before scale and offset.
struct NumberSystemLevels {
  NumberSystemInfo system;
  int bits = 0;
  /// [2^bits] by code; NaN of a code that no number gets, as the lowest of int_narrow; empty if
  /// levels are learned.
  std::vector<float> levels;
};

/// All rows, by family.
std::vector<NumberSystemInfo> list_number_systems();
/// @param bits  0: the most that the system has, up to 8
/// @throws Error kUsage if there is no such system or it does not have so many bits
NumberSystemLevels number_system_levels(std::string_view name, int bits);

using v0::ArrayFormat;

/// Fits an encoding to an array, all of whose elements have equal weight: compress::fit_table().
/// @param values  [rows, cols] finite
/// @throws Error kUsage if the format is none; kFormat if an element is NaN or infinite
numerics::MatrixEncoding fit_encoding(MatrixView<const float> values, const ArrayFormat& format);

/// An encoding whose scales the rule of the system gives, such as the largest magnitude, without a
/// fit.
/// @throws Error as fit_encoding(); kUsage also if levels are learned, which no rule gives
numerics::MatrixEncoding rule_encoding(MatrixView<const float> values, const ArrayFormat& format);

/// Unsigned integers with scales and zero points, for arrays of any extent:
///
///     value = scale (q - zero_point), q = 0 ... 2^bits - 1;   q = clip(round(x / scale +
///     zero_point))
///
/// @param scales       one, or one for each row; finite, above 0
/// @param zero_points  one for each scale, 0 to 2^bits - 1
/// @param bits         1 to 16
/// @throws Error kUsage if an argument is out of range, or levels are beyond float32
numerics::MatrixEncoding uniform_encoding(std::span<const float> scales,
                                          std::span<const std::int64_t> zero_points, int bits);
/// Two's complement with a binary point, for arrays of any extent:
///
///     value = 2^exponent q, q = -2^(bits-1) ... 2^(bits-1) - 1, of code q + 2^(bits-1)
///
/// @param exponent  -126 or more
/// @param bits      1 to 16
/// @throws Error as uniform_encoding()
numerics::MatrixEncoding fixed_point_encoding(int exponent, int bits);
/// The floating point format numerics::minifloat_from() "eXmY" times a scale, for arrays of any
/// extent; numbers beyond the largest become the largest.
/// @throws Error as uniform_encoding(); kUsage if there is no such format
numerics::MatrixEncoding minifloat_encoding(int exponent_bits, int mantissa_bits, float scale = 1);

/// The code of the nearest level for each element.
/// @return [rows * cols]
/// @throws Error kShape if the encoding is one of another number of rows or columns
std::vector<std::uint16_t> encode_array(MatrixView<const float> values,
                                        const numerics::MatrixEncoding& encoding);
/// The value of every code of a block, [2^bits].
/// @throws Error kUsage if there is no such block
std::vector<float> levels_of_block(const numerics::MatrixEncoding& encoding, std::size_t block);
/// The levels of codes.
/// @param codes  [rows, cols]
/// @return       [rows * cols]
/// @throws Error as encode_array(); kUsage if a code has more bits than the encoding
std::vector<float> decode_array(MatrixView<const std::uint16_t> codes,
                                const numerics::MatrixEncoding& encoding);

}  // namespace halftone
