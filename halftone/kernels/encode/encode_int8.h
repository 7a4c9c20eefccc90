// SPDX-License-Identifier: Apache-2.0
// Float rows to the levels of a basis as 8-bit integers.
#pragma once

#include <cstdint>

#include "halftone/base/view.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/level_grid.h"

namespace halftone::kernels {

/// q = levels.q[code] with the code from encode(), for layers that multiply integers and need no
/// packed codes.
/// @param values  [rows, n] f32
/// @param levels  of table.basis()
/// @param q       [rows, n], all written
void encode_int8(MatrixView<const float> values, const EncodeTable& table, const Int8Levels& levels,
                 MatrixView<std::int8_t> q) noexcept;

/// Reference implementation of encode_int8() in plain loops.
void encode_int8_reference(MatrixView<const float> values, const EncodeTable& table,
                           const Int8Levels& levels, MatrixView<std::int8_t> q) noexcept;

}  // namespace halftone::kernels
