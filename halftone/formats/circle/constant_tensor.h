// SPDX-License-Identifier: Apache-2.0
// Conversion of element types and constants between file and graph.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "circle_generated.h"
#include "halftone/base/shared_bytes.h"
#include "halftone/ir/tensor.h"

namespace halftone::formats::circle {

/// The element type of values in a graph that corresponds; nullopt if there is none, also for
/// float16 and bfloat16, which are only stored.
std::optional<ir::ElementType> element_type(schema::TensorType type);
schema::TensorType tensor_type(ir::ElementType type);
/// Whether tensors of this type may hold affine codes that a graph can dequantize.
bool is_quantized(schema::TensorType type);

/// The element type of constants that corresponds.
/// @throws Error kUnsupported if a graph has no such element type
ir::ElementType stored_type(schema::TensorType type);
/// Whether elements are floats of 16 bits.
bool is_half(schema::TensorType type);

/// Reads a constant; a view if the bytes have an owner.
/// @throws Error kFormat if the bytes do not fit the shape; kUnsupported if a graph has no such
///         element type; kShape if the shape is too large
ir::Tensor read_stored(schema::TensorType type, const ir::Shape& shape, SharedBytes bytes);
/// The same, but float16 and bfloat16 become float32.
ir::Tensor read_tensor(schema::TensorType type, const ir::Shape& shape, SharedBytes bytes);

/// Values in the narrowest type that represents all of them exactly: float16 or float32.
struct FloatBytes {
  schema::TensorType type;
  std::vector<std::byte> bytes;
};
FloatBytes narrowest_floats(std::span<const float> numbers);

}  // namespace halftone::formats::circle
