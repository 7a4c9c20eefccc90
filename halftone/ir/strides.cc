// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/strides.h"

namespace halftone::ir {

std::vector<std::size_t> row_major_strides(const Shape& shape) {
  std::vector<std::size_t> strides(shape.rank(), 1);
  for (std::size_t i = shape.rank(); i-- > 1;) {
    strides[i - 1] = strides[i] * static_cast<std::size_t>(shape[i]);
  }
  return strides;
}

std::vector<std::size_t> broadcast_strides(const Shape& operand, const Shape& result) {
  const std::vector<std::size_t> own = row_major_strides(operand);
  std::vector<std::size_t> strides(result.rank(), 0);
  for (std::size_t i = 0; i < operand.rank(); ++i) {
    if (operand[i] != 1) strides[i + result.rank() - operand.rank()] = own[i];
  }
  return strides;
}

}  // namespace halftone::ir
