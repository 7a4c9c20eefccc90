// SPDX-License-Identifier: Apache-2.0
// Bases as rows of numbers, the way files keep them.
#pragma once

#include <span>
#include <vector>

#include "halftone/numerics/encoding.h"

namespace halftone::formats::circle {

/// The numbers of an encoding's bases, one row each: [num_bases, K], or [num_bases, K + 1] with the
/// offset last.
std::vector<float> to_rows(const numerics::BasisEncoding& encoding);

/// The inverse: fills in the bases of an encoding that is otherwise complete.
/// @throws Error kFormat if the numbers are not whole rows or not finite
void fill_bases(numerics::BasisEncoding& encoding, std::span<const float> rows);

}  // namespace halftone::formats::circle
