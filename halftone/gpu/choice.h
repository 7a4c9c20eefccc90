// SPDX-License-Identifier: Apache-2.0
// How rows choose experts, on a device, with the bits of runtime/.
#pragma once

#include <cstddef>

#include "halftone/gpu/programs.h"

namespace halftone::gpu {

struct RowsAndColumns {
  std::size_t rows = 0;
  std::size_t cols = 0;
};

/// kernels::softmax().
Launch softmax(Programs& programs, const RowsAndColumns& extent, const Buffer& x, const Buffer& y);
/// Indices of the k largest elements of rows, best first. @param y  int32 [rows, k]
Launch top_k(Programs& programs, const RowsAndColumns& extent, std::size_t k, const Buffer& x,
             const Buffer& y);

/// Elements of rows.
struct Chosen {
  std::size_t rows = 0;
  std::size_t x_cols = 0;
  std::size_t y_cols = 0;
  const Buffer& ids;  ///< int32 [rows, y_cols], below x_cols
};
/// y[r, j] = x[r, ids[r, j]].
Launch gather_elements(Programs& programs, const Chosen& chosen, const Buffer& x, const Buffer& y);

/// An axis between others.
struct Axis {
  std::size_t outer = 1;
  std::size_t extent = 1;
  std::size_t inner = 1;
  std::size_t divisor = 1;  ///< of the sum: the extent for a mean
};
/// The sum over an axis of floats, divided, as runtime/statistics computes it.
Launch sum_axis(Programs& programs, const Axis& axis, const Buffer& x, const Buffer& y);

}  // namespace halftone::gpu
