// SPDX-License-Identifier: Apache-2.0
// Two operands that are broadcast to a result, as rows along which both advance by constant steps.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Strides of an operand along rows of the result.
struct Walk {
  std::size_t row_step = 0;  ///< between rows; 0 if the row repeats
  std::size_t step = 0;      ///< between elements; 0 for a single value
};

/// Rows of the result along which both operands advance by constant steps.
struct Rows {
  std::size_t rows = 1;
  std::size_t cols = 1;
  Walk a;
  Walk b;
};

/// An axis of the result, with the stride along it in each operand.
struct BroadcastAxis {
  std::size_t count = 1;
  std::size_t a = 0;
  std::size_t b = 0;
};

/// Loops over the outer axes, one set of rows each.
struct Broadcast {
  std::vector<BroadcastAxis> outer;
  Rows rows;
};

/// How the inputs of a node are broadcast to its output.
Broadcast find_broadcast(const NodeContext& context);

/// Calls compute(rows, a, b, y) for all rows of the result.
/// @param first  of the outer axes
/// @return the end of the output
template <typename T, typename Compute>
T* for_broadcast_rows(const Broadcast& shape, const T* a, const T* b, T* y, const Compute& compute,
                      std::size_t first = 0) {
  if (first == shape.outer.size()) {
    compute(shape.rows, a, b, y);
    return y + shape.rows.rows * shape.rows.cols;
  }
  const BroadcastAxis& axis = shape.outer[first];
  for (std::size_t i = 0; i < axis.count; ++i) {
    y = for_broadcast_rows(shape, a + i * axis.a, b + i * axis.b, y, compute, first + 1);
  }
  return y;
}

}  // namespace halftone::runtime
