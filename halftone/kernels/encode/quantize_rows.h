// SPDX-License-Identifier: Apache-2.0
// Float rows to rows of 8-bit integers, each with its own scale.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// The largest magnitude of a quantized activation: the range is symmetric.
inline constexpr int kInt8Range = 127;

/// Quantizes every row to 127 steps on either side of zero, scaled to the range of the row:
///
///     m = max |x_i|,  scale = m / 127,  q_i = x_i (127 / m) rounded to nearest, ties to even
///
/// so that x_i = scale q_i within scale / 2. A row with m so small that 127 / m is infinite is all
/// zero with scale 0; one with an infinity or NaN is all zero with scale NaN, which makes all
/// results of the row NaN.
/// @param values  [rows, n] f32
/// @param q       [rows, n], all written
/// @param scales  [rows]
void quantize_rows(MatrixView<const float> values, MatrixView<std::int8_t> q,
                   std::span<float> scales) noexcept;

/// Reference implementation of quantize_rows() in plain loops.
void quantize_rows_reference(MatrixView<const float> values, MatrixView<std::int8_t> q,
                             std::span<float> scales) noexcept;

}  // namespace halftone::kernels
