// SPDX-License-Identifier: Apache-2.0
// Float rows to bit planes.
#pragma once

#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/encode/encode_table.h"

namespace halftone::kernels {

/// Encodes every value to the code of its level (see numerics::LevelTable for ties and NaN) and
/// stores the codes as bit planes, laid out as in numerics::BitPlanes: row r, plane j starts at
/// word (r K + j) W with W = words_for_bits(n); the bits past n are zero.
/// @param values  [rows, n] f32
/// @param planes  [rows * K * W] words, all written
void encode(MatrixView<const float> values, const EncodeTable& table,
            std::span<std::uint64_t> planes) noexcept;

/// Reference implementation of encode() in plain loops.
void encode_reference(MatrixView<const float> values, const EncodeTable& table,
                      std::span<std::uint64_t> planes) noexcept;

}  // namespace halftone::kernels
