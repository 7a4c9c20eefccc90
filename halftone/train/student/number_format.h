// SPDX-License-Identifier: Apache-2.0
// Number formats that training can emulate by rounding float32 values.
#pragma once

#include <string>
#include <string_view>
#include <variant>

#include "halftone/numerics/minifloat.h"

namespace halftone::train {

/// No rounding.
struct Float32 {
  bool operator==(const Float32&) const = default;
};

/// Integers of K bits, symmetric around 0, scaled so that the tensor's largest magnitude is the
/// largest integer:
///     y = n s,  s = max|x| / (2^(K - 1) - 1),  n = round(x / s)
/// A tensor that is zero or has non-finite values is unchanged.
/// Source: Zhou et al., DoReFa-Net, 2016 (arXiv:1606.06160), where gradients are scaled by their
/// largest. Differs: zero is one of the 2^K - 1 levels; a tensor has one scale, theirs one for each
/// sample. Unlike in Wu et al., WAGE, ICLR 2018 (arXiv:1802.04680), the step need not be a power of
/// two, which costs up to half of the levels at four bits.
struct ScaledIntegers {
  int bits;  ///< K, 2 to 16
  bool operator==(const ScaledIntegers&) const = default;
};

using NumberFormat = std::variant<Float32, numerics::Minifloat, ScaledIntegers>;

/// "fp32", "fp16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", or "int2" to "int16".
/// @throws Error kUsage with this list if the text is none of them
NumberFormat parse_number_format(std::string_view text);
/// The text that parse_number_format() parses to the format.
/// @pre such a text exists
std::string to_string(const NumberFormat& format);

}  // namespace halftone::train
