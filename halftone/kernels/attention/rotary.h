// SPDX-License-Identifier: Apache-2.0
// Rotary positions: each pair of numbers of a head is turned by an angle of the token's position.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// Which numbers of a head make pair i.
enum class RotaryPairing {
  kInterleaved,  ///< 2i and 2i + 1
  kNeox,         ///< i and i + dims / 2
};

/// The heads of a row and the turned part of each.
struct RotaryShape {
  std::size_t heads = 1;
  std::size_t dims = 0;  ///< even; numbers at the start of each head that are turned, or all
  RotaryPairing pairing = RotaryPairing::kNeox;
};

/// Cosines and sines of all angles.
struct RotaryTables {
  MatrixView<const float> cosines;  ///< [C, dims / 2]
  MatrixView<const float> sines;    ///< [C, dims / 2]
};

/// Checks what rotate() relies on.
/// @param context  C of the tables
/// @throws Error kUsage if a position is not in [0, context): the message names the row
void require_positions(std::span<const std::int32_t> positions, std::size_t context);

/// Turns pair i = (a, b) of every head of row n to (a c - b s, a s + b c), where c and s are number
/// i of row positions[n] of the tables; each product and each sum is rounded. The numbers from dims
/// on are copied.
/// @param x          [N, heads * size], size >= dims
/// @param positions  [N]; see require_positions()
/// @param y          [N, heads * size]; may be the memory of x
void rotate(const RotaryShape& shape, MatrixView<const float> x,
            std::span<const std::int32_t> positions, const RotaryTables& tables,
            MatrixView<float> y) noexcept;

/// Reference implementation of rotate() in plain loops.
void rotate_reference(const RotaryShape& shape, MatrixView<const float> x,
                      std::span<const std::int32_t> positions, const RotaryTables& tables,
                      MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
