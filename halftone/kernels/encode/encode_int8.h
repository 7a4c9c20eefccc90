// SPDX-License-Identifier: Apache-2.0
// Float rows to the levels of a basis as 8-bit integers.
#pragma once

#include <cstdint>

#include "halftone/base/view.h"
#include "halftone/kernels/encode/encode_table.h"
#include "halftone/kernels/int8_matmul/level_grid.h"

namespace halftone::kernels {

/// q = levels.q[code], where code is what encode() gives: for layers that multiply integers, so
/// that no code need be packed and unpacked.
/// @param values  [rows, n] f32
/// @param levels  of table.basis()
/// @param q       [rows, n], all written
void encode_int8(MatrixView<const float> values, const EncodeTable& table, const Int8Levels& levels,
                 MatrixView<std::int8_t> q) noexcept;

/// The definition of encode_int8(), in plain loops.
void encode_int8_reference(MatrixView<const float> values, const EncodeTable& table,
                           const Int8Levels& levels, MatrixView<std::int8_t> q) noexcept;

}  // namespace halftone::kernels
