// SPDX-License-Identifier: Apache-2.0
// Bit planes back to float rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Writes the level of every code, as numerics::Levels::value().
/// @param planes  [rows, K, words] as encode() writes them; K = levels.bits()
/// @param values  [rows, n]
void decode(std::span<const std::uint64_t> planes, const numerics::Levels& levels,
            MatrixView<float> values) noexcept;

/// Rows first_row, first_row + 1, ... of numerics::decode(), any granularity.
/// @param codes     [rows, n]
/// @param encoding  of `codes`; encoding.check() holds and bits agree
/// @param values    [number of rows wanted, n]
void decode(const numerics::BitPlanes& codes, const numerics::MatrixEncoding& encoding,
            std::size_t first_row, MatrixView<float> values) noexcept;

}  // namespace halftone::kernels
