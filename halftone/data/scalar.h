// SPDX-License-Identifier: Apache-2.0
// The element types that arrays in files have, and their conversion to what Halftone computes with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace halftone::data {

/// One number as a file stores it, in this machine's byte order.
enum class Scalar {
  kFloat16,
  kFloat32,
  kFloat64,
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kBool,
};

/// The name as NumPy has it: "float32", "bool", ...
std::string_view to_string(Scalar type);
[[nodiscard]] std::size_t size_bytes(Scalar type);
/// Whether it is none of the floating-point types.
[[nodiscard]] bool is_integer(Scalar type);

/// Converts each number to the nearest float32; false and true become 0 and 1. Numbers beyond
/// float32 become infinite.
/// @param src  [dst.size() * size_bytes(type)], any alignment
/// @throws Error kShape if the lengths differ
void to_floats(Scalar type, std::span<const std::byte> src, std::span<float> dst);

/// Converts each integer or bool.
/// @param src  [dst.size() * size_bytes(type)], any alignment
/// @throws Error kShape if the lengths differ; kFormat if the type is floating point or a number
///         exceeds int64
void to_integers(Scalar type, std::span<const std::byte> src, std::span<std::int64_t> dst);

}  // namespace halftone::data
