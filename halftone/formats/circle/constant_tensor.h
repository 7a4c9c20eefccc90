// SPDX-License-Identifier: Apache-2.0
// Conversion of element types and constants between file and graph.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "circle_generated.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::circle {

/// The corresponding element type in a graph; nullopt if there is none.
std::optional<ir::ElementType> element_type(schema::TensorType type);
schema::TensorType tensor_type(ir::ElementType type);
/// Whether tensors of this type may hold affine codes that a graph can dequantize.
bool is_quantized(schema::TensorType type);

/// Bytes of a stored element. @throws Error kUnsupported if a graph has no such element type
std::size_t size_bytes(schema::TensorType type);

/// Reads a constant; float16 and bfloat16 become float32.
/// @throws Error kFormat if the bytes do not fit the shape; kUnsupported if a graph has no such
///         element type; kShape if the shape is too large
ir::Tensor read_tensor(schema::TensorType type, const ir::Shape& shape,
                       std::span<const std::byte> bytes);

/// Values in the narrowest type that represents all of them exactly: float16 or float32.
struct FloatBytes {
  schema::TensorType type;
  std::vector<std::byte> bytes;
};
FloatBytes narrowest_floats(std::span<const float> numbers);

}  // namespace halftone::formats::circle
