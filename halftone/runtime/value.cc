// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/value.h"

#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/decode.h"

namespace halftone::runtime {
namespace {

std::size_t plane_words(const ir::ValueType& type) {
  const auto [rows, cols] = row_extent(type.shape);
  return rows * static_cast<std::size_t>(type.encoding.basis->bits) * words_for_bits(cols);
}

}  // namespace

ir::MatrixExtent row_extent(const ir::Shape& shape) {
  const std::size_t count = shape.element_count();
  if (shape.rank() == 0) return {1, 1};
  const auto cols = static_cast<std::size_t>(shape.back());
  return {cols == 0 ? 0 : count / cols, cols};
}

std::size_t value_bytes(const ir::ValueType& type) {
  if (!type.encoding.is_dense()) return plane_words(type) * sizeof(std::uint64_t);
  return type.shape.element_count() * ir::size_bytes(type.encoding.element);
}

void decode_value(const ir::ValueType& type, const std::byte* planes, float* values) noexcept {
  const auto [rows, cols] = row_extent(type.shape);
  kernels::decode({reinterpret_cast<const std::uint64_t*>(planes), plane_words(type)},
                  type.encoding.basis->bases.front(), {values, rows, cols, cols});
}

ir::Tensor to_tensor(const ValueView& view) {
  ir::Tensor tensor(view.type.encoding.element, view.type.shape);
  if (view.type.encoding.is_dense()) {
    std::copy(view.bytes.begin(), view.bytes.end(), tensor.bytes().begin());
  } else {
    decode_value(view.type, view.bytes.data(), tensor.as<float>().data());
  }
  return tensor;
}

}  // namespace halftone::runtime
