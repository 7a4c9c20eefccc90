// SPDX-License-Identifier: Apache-2.0
// Memory layout of values in a session.
//
// Dense values are row-major elements. Codes are stored row by row (along the last axis) in a
// CodeLayout: K planes of whole 64-bit words, or one byte per code. Indices have 32 or 64 bits.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/ir/tensor.h"

namespace halftone::runtime {

/// How the codes of a value are stored in the memory of a session.
enum class CodeLayout {
  kPlanes,  ///< bit planes as written by kernels::encode()
  kInt8,    ///< levels as written by kernels::encode_int8(), for layers that multiply integers
};

/// A tensor as rows of its last axis; a scalar is one row of one element.
ir::MatrixExtent row_extent(const ir::Shape& shape);

/// Bytes of a value of this type in a session. @pre codes have one basis for the tensor
std::size_t value_bytes(const ir::ValueType& type, CodeLayout layout = CodeLayout::kPlanes);

/// A value in the memory of a session, valid until the session runs again.
struct ValueView {
  const ir::ValueType& type;
  std::span<const std::byte> bytes;
  CodeLayout layout = CodeLayout::kPlanes;
};

/// Writes the levels of codes as float32; for CodeLayout::kInt8, the levels that its readers use.
/// @pre one basis for the tensor
/// @param values  one per element of the value
void decode_value(const ValueView& view, float* values) noexcept;

/// A copy of a value; codes are decoded to float32.
ir::Tensor to_tensor(const ValueView& view);

/// Memory as a matrix of float32.
inline MatrixView<const float> float_matrix(const std::byte* data, ir::MatrixExtent extent) {
  return {reinterpret_cast<const float*>(data), extent.rows, extent.cols, extent.cols};
}
inline MatrixView<float> float_matrix(std::byte* data, ir::MatrixExtent extent) {
  return {reinterpret_cast<float*>(data), extent.rows, extent.cols, extent.cols};
}

struct Indices {
  const std::byte* data = nullptr;
  bool wide = false;  ///< int64, else int32

  [[nodiscard]] std::int64_t operator[](std::size_t i) const {
    return wide ? reinterpret_cast<const std::int64_t*>(data)[i]
                : reinterpret_cast<const std::int32_t*>(data)[i];
  }
};

inline bool are_wide(const ir::ValueType& indices) {
  return indices.is_dense(ir::ElementType::kInt64);
}

}  // namespace halftone::runtime
