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

namespace {

/// Bits of an integer of which a byte holds several; 0 for others.
std::size_t packed_bits(TensorType type) {
  if (type == TensorType::INT4 || type == TensorType::UINT4) return 4;
  return type == TensorType::INT2 ? 2 : 0;
}

/// One integer in each byte. Files begin with the lowest bits of a byte.
ir::Tensor unpacked(TensorType type, const ir::Shape& shape, std::span<const std::byte> bytes) {
  const std::size_t bits = packed_bits(type);
  const std::size_t in_byte = 8 / bits;
  const unsigned mask = (1U << bits) - 1;
  const unsigned sign = type == TensorType::UINT4 ? 0 : 1U << (bits - 1);
  ir::Tensor result(type == TensorType::UINT4 ? ir::ElementType::kUint8 : ir::ElementType::kInt8,
                    shape);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const unsigned byte = std::to_integer<unsigned>(bytes[i / in_byte]);
    const unsigned code = byte >> (i % in_byte * bits) & mask;
    // Two's complement: codes from the sign bit on are negative.
    result.bytes()[i] = static_cast<std::byte>((code ^ sign) - sign);
  }
  return result;
}

void check_size(const ir::Shape& shape, std::size_t expected, std::size_t found) {
  check(found == expected, "shape " + shape.to_string() + ": expected " + std::to_string(expected) +
                               " bytes, found " + std::to_string(found));
}

}  // namespace

std::optional<ir::ElementType> element_type(TensorType type) {
  using enum ir::ElementType;
  if (packed_bits(type) != 0) return type == TensorType::UINT4 ? kUint8 : kInt8;
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
  return type == TensorType::INT8 || type == TensorType::UINT8 || type == TensorType::INT16 ||
         type == TensorType::INT32 || type == TensorType::INT64 || packed_bits(type) != 0;
}

ir::Tensor read_stored(TensorType type, const ir::Shape& shape, SharedBytes bytes) {
  // The element count is at most 2^40, so that these products cannot overflow.
  if (const std::size_t bits = packed_bits(type); bits != 0) {
    check_size(shape, (shape.element_count() * bits + 7) / 8, bytes.bytes.size());
    return unpacked(type, shape, bytes.bytes);
  }
  const ir::ElementType element = stored_type(type);
  check_size(shape, shape.element_count() * ir::size_bytes(element), bytes.bytes.size());
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
