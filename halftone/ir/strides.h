// SPDX-License-Identifier: Apache-2.0
// Strides of tensors and of operands that are broadcast.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "halftone/ir/shape.h"

namespace halftone::ir {

/// Distance in elements between neighbours along each axis, in row-major order.
/// @pre shape is static
std::vector<std::size_t> row_major_strides(const Shape& shape);

/// Strides of an operand that is broadcast to a result, along the result's axes; 0 along axes that
/// repeat. @pre broadcast(operand, result) == result, both static
std::vector<std::size_t> broadcast_strides(const Shape& operand, const Shape& result);

/// Visits the positions of a shape in row-major order and tracks an offset into each operand.
template <std::size_t kOperands>
class StridedWalk {
 public:
  /// @param strides  per operand, one for each axis of the shape
  StridedWalk(const Shape& shape, std::array<std::vector<std::size_t>, kOperands> strides)
      : shape_(shape), position_(shape.rank(), 0), strides_(std::move(strides)) {}

  [[nodiscard]] std::size_t offset(std::size_t operand) const { return offsets_[operand]; }
  /// The index along an axis.
  [[nodiscard]] std::size_t position(std::size_t axis) const { return position_[axis]; }

  void next() {
    for (std::size_t axis = position_.size(); axis-- > 0;) {
      for (std::size_t k = 0; k < kOperands; ++k) offsets_[k] += strides_[k][axis];
      if (++position_[axis] < static_cast<std::size_t>(shape_[axis])) return;
      for (std::size_t k = 0; k < kOperands; ++k) {
        offsets_[k] -= strides_[k][axis] * position_[axis];
      }
      position_[axis] = 0;
    }
  }

 private:
  Shape shape_;
  std::vector<std::size_t> position_;
  std::array<std::vector<std::size_t>, kOperands> strides_;
  std::array<std::size_t, kOperands> offsets_{};
};

}  // namespace halftone::ir
