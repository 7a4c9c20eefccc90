// SPDX-License-Identifier: Apache-2.0
// The element types of tensors and arrays.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

namespace halftone {

/// Type of one element. Tensors of a graph hold all but kFloat64 (halftone/ir); arrays of
/// collectives hold those of spmd::Element.
enum class ElementType {
  kFloat32,
  kInt8,
  kUint8,
  kInt32,
  kInt64,
  kBool,  ///< one byte: 0 or 1
  kInt16,
  kUint16,
  kUint32,
  kUint64,
  kFloat64,
  kFloat16,  ///< IEEE 754 binary16, see half.h
  kBfloat16  ///< the upper half of a float32
};

std::string_view to_string(ElementType type);  ///< "float32", ...
/// Bytes of one element; kBool takes one.
/// @throws Error kInternal if there is no such type
std::size_t size_bytes(ElementType type);
/// True for integers; a boolean is not an integer.
bool is_integer(ElementType type);
/// True for floats of 16 bits, which are stored, but not computed with.
bool is_half(ElementType type);

template <typename T>
struct ElementTypeOf;
template <>
struct ElementTypeOf<float> : std::integral_constant<ElementType, ElementType::kFloat32> {};
template <>
struct ElementTypeOf<double> : std::integral_constant<ElementType, ElementType::kFloat64> {};
template <>
struct ElementTypeOf<std::int8_t> : std::integral_constant<ElementType, ElementType::kInt8> {};
template <>
struct ElementTypeOf<std::uint8_t> : std::integral_constant<ElementType, ElementType::kUint8> {};
template <>
struct ElementTypeOf<std::int16_t> : std::integral_constant<ElementType, ElementType::kInt16> {};
template <>
struct ElementTypeOf<std::uint16_t> : std::integral_constant<ElementType, ElementType::kUint16> {};
template <>
struct ElementTypeOf<std::int32_t> : std::integral_constant<ElementType, ElementType::kInt32> {};
template <>
struct ElementTypeOf<std::uint32_t> : std::integral_constant<ElementType, ElementType::kUint32> {};
template <>
struct ElementTypeOf<std::int64_t> : std::integral_constant<ElementType, ElementType::kInt64> {};
template <>
struct ElementTypeOf<std::uint64_t> : std::integral_constant<ElementType, ElementType::kUint64> {};

/// @throws Error kUnsupported: elements of this type do not occur here; kInternal if there is no
///         such type
[[noreturn]] void fail_element(ElementType type);

/// Calls visit(T{}) with the C++ type of an element; booleans are bytes, and floats of 16 bits the
/// integers of their bits.
/// @tparam Ts  the types that may occur
/// @throws Error kUnsupported if the element is none of Ts; kInternal if there is no such type
template <typename T, typename... Ts, typename Visit>
auto visit_element(ElementType type, Visit&& visit) {
  const ElementType stored = type == ElementType::kBool ? ElementType::kUint8
                             : is_half(type)            ? ElementType::kUint16
                                                        : type;
  if (stored == ElementTypeOf<T>::value) return visit(T{});
  if constexpr (sizeof...(Ts) == 0) {
    fail_element(type);
  } else {
    return visit_element<Ts...>(type, visit);
  }
}

}  // namespace halftone
