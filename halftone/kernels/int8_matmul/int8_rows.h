// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <span>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// Activations as integers: row r represents scales[r] q[r, :] + offset. Written by
/// quantize_rows(), without offset, or by encode_int8().
struct Int8Rows {
  MatrixView<const std::int8_t> q;  ///< [m, n]
  std::span<const float> scales;    ///< [m]
  float offset = 0;
};

}  // namespace halftone::kernels
