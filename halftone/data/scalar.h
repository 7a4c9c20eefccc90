// SPDX-License-Identifier: Apache-2.0
// Element types of arrays in files, and their conversion to float32 and int64.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace halftone::data {

/// Element type of an array, in the native byte order.
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

/// NumPy's name of the type: "float32", "bool", ...
std::string_view to_string(Scalar type);
[[nodiscard]] std::size_t size_bytes(Scalar type);
/// Whether the type is an integer type or bool.
[[nodiscard]] bool is_integer(Scalar type);

/// Converts each element to the nearest float32; false and true become 0 and 1. Values beyond the
/// range of float32 become infinite.
/// @param src  [dst.size() * size_bytes(type)], any alignment
/// @throws Error kShape if the lengths differ
void to_floats(Scalar type, std::span<const std::byte> src, std::span<float> dst);

/// Converts each integer or boolean to int64.
/// @param src  [dst.size() * size_bytes(type)], any alignment
/// @throws Error kShape if the lengths differ; kFormat if the type is floating point or a value
///         exceeds int64
void to_integers(Scalar type, std::span<const std::byte> src, std::span<std::int64_t> dst);

}  // namespace halftone::data
