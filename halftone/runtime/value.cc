// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/value.h"

#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"

namespace halftone::runtime {
namespace {

std::size_t plane_words(const ir::ValueType& type) {
  const auto [rows, cols] = row_extent(type.shape);
  return rows * static_cast<std::size_t>(type.encoding.codes->bits) * words_for_bits(cols);
}

}  // namespace

ir::MatrixExtent row_extent(const ir::Shape& shape) {
  static_cast<void>(shape.element_count());  // checks that no product overflows
  ir::MatrixExtent extent;
  for (const ir::Dim dim : shape.dims()) {
    extent.rows *= extent.cols;
    extent.cols = static_cast<std::size_t>(dim);
  }
  return extent;
}

std::size_t value_bytes(const ir::ValueType& type, CodeLayout layout) {
  if (!type.encoding.is_dense()) {
    return layout == CodeLayout::kInt8 ? type.shape.element_count()
                                       : plane_words(type) * sizeof(std::uint64_t);
  }
  return type.shape.element_count() * ir::size_bytes(type.encoding.element);
}

void decode_value(const ValueView& view, float* values) noexcept {
  const numerics::Levels meaning = view.type.encoding.codes->levels(0);
  if (view.layout == CodeLayout::kInt8) {
    const kernels::Int8Levels levels(meaning);
    std::transform(view.bytes.begin(), view.bytes.end(), values, [&](std::byte q) {
      return levels.offset + levels.scale * static_cast<float>(static_cast<std::int8_t>(q));
    });
    return;
  }
  const auto [rows, cols] = row_extent(view.type.shape);
  kernels::decode(
      {reinterpret_cast<const std::uint64_t*>(view.bytes.data()), plane_words(view.type)}, meaning,
      {values, rows, cols, cols});
}

ir::Tensor to_tensor(const ValueView& view) {
  ir::Tensor tensor(view.type.encoding.element, view.type.shape);
  if (view.type.encoding.is_dense()) {
    std::copy(view.bytes.begin(), view.bytes.end(), tensor.bytes().begin());
  } else {
    decode_value(view, tensor.as<float>().data());
  }
  return tensor;
}

}  // namespace halftone::runtime
