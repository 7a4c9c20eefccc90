// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/constant_tensor.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/formats/circle/check.h"

namespace halftone::formats::circle {
using schema::TensorType;

std::optional<ir::ElementType> element_type(TensorType type) {
  using enum ir::ElementType;
  for (const ir::ElementType element :
       {kFloat32, kInt8, kUint8, kInt16, kUint16, kInt32, kUint32, kInt64, kUint64, kBool}) {
    if (tensor_type(element) == type) return element;
  }
  return std::nullopt;
}

TensorType tensor_type(ir::ElementType type) {
  switch (type) {
    case ir::ElementType::kFloat32:
      return TensorType::FLOAT32;
    case ir::ElementType::kInt8:
      return TensorType::INT8;
    case ir::ElementType::kUint8:
      return TensorType::UINT8;
    case ir::ElementType::kInt32:
      return TensorType::INT32;
    case ir::ElementType::kInt64:
      return TensorType::INT64;
    case ir::ElementType::kBool:
      return TensorType::BOOL;
    case ir::ElementType::kInt16:
      return TensorType::INT16;
    case ir::ElementType::kUint16:
      return TensorType::UINT16;
    case ir::ElementType::kUint32:
      return TensorType::UINT32;
    case ir::ElementType::kUint64:
      return TensorType::UINT64;
    case ir::ElementType::kFloat64:
      return TensorType::FLOAT64;
    case ir::ElementType::kFloat16:
      return TensorType::FLOAT16;
    case ir::ElementType::kBfloat16:
      return TensorType::BFLOAT16;
  }
  fail(ErrorKind::kInternal, "unknown element type");
}

ir::ElementType stored_type(TensorType type) {
  if (type == TensorType::FLOAT16) return ir::ElementType::kFloat16;
  if (type == TensorType::BFLOAT16) return ir::ElementType::kBfloat16;
  const auto element = element_type(type);
  if (!element) {
    fail(ErrorKind::kUnsupported, "elements of type " + std::to_string(static_cast<int>(type)) +
                                      " (" + schema::EnumNameTensorType(type) + ")");
  }
  return *element;
}

bool is_half(TensorType type) {
  return type == TensorType::FLOAT16 || type == TensorType::BFLOAT16;
}

bool is_quantized(TensorType type) {
  return type == TensorType::INT8 || type == TensorType::UINT8 || type == TensorType::INT32;
}

ir::Tensor read_stored(TensorType type, const ir::Shape& shape, SharedBytes bytes) {
  const ir::ElementType element = stored_type(type);
  // The element count is at most 2^40, so that this product cannot overflow.
  const std::size_t expected = shape.element_count() * ir::size_bytes(element);
  check(bytes.bytes.size() == expected, "shape " + shape.to_string() + ": expected " +
                                            std::to_string(expected) + " bytes, found " +
                                            std::to_string(bytes.bytes.size()));
  return ir::Tensor::view(element, shape, std::move(bytes));
}

ir::Tensor read_tensor(TensorType type, const ir::Shape& shape, SharedBytes bytes) {
  ir::Tensor stored = read_stored(type, shape, std::move(bytes));
  return is_half(type) ? stored.cast(ir::ElementType::kFloat32) : std::move(stored);
}

FloatBytes narrowest_floats(std::span<const float> numbers) {
  const auto halves = exact_halves(numbers);
  const auto bytes = halves ? std::as_bytes(std::span(*halves)) : std::as_bytes(numbers);
  return {halves ? TensorType::FLOAT16 : TensorType::FLOAT32, {bytes.begin(), bytes.end()}};
}

}  // namespace halftone::formats::circle
