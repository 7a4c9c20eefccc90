// SPDX-License-Identifier: Apache-2.0
// The array type of mapped functions and collectives.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/export.hpp"

namespace halftone::spmd {
inline namespace v0 {

/// The C++ types of elements.
template <typename T>
concept Element = std::same_as<T, float> || std::same_as<T, double> ||
    std::same_as<T, std::int32_t> || std::same_as<T, std::int64_t>;

/// The type of an element.
enum class ElementType : std::uint8_t { kFloat32, kFloat64, kInt32, kInt64 };

/// The type of elements that are T in C++.
template <Element T>
constexpr ElementType element_type() {
  if constexpr (std::same_as<T, float>) return ElementType::kFloat32;
  if constexpr (std::same_as<T, double>) return ElementType::kFloat64;
  if constexpr (std::same_as<T, std::int32_t>) return ElementType::kInt32;
  if constexpr (std::same_as<T, std::int64_t>) return ElementType::kInt64;
}

HALFTONE_CPP_API std::string_view to_string(ElementType type);  ///< "float32", ...
/// Bytes of one element.
constexpr std::size_t size_bytes(ElementType type) {
  return type == ElementType::kFloat32 || type == ElementType::kInt32 ? 4 : 8;
}

/// Extents, outermost first; empty for a scalar.
using Shape = std::vector<std::int64_t>;

HALFTONE_CPP_API std::string to_string(const Shape& shape);  ///< "[8, 5]"

struct ArrayDraft;

/// An immutable dense array in row-major order. Copies, parts along the first axis, lanes and
/// devices share its memory, which is freed with the last of them.
class HALFTONE_CPP_API Array {
 public:
  /// float32[0].
  Array() = default;

  /// @param fill  receives the uninitialised elements as std::span<T> and writes all of them
  /// @throws Error kShape if an extent is negative or there are more than 2^40 elements; rethrows
  ///         errors of fill
  template <Element T, typename Fill>
  static Array make(Shape shape, Fill&& fill);
  /// @throws Error kShape unless the shape has values.size() elements
  template <Element T>
  static Array from(Shape shape, std::span<const T> values);
  /// An array of rank 1.
  template <Element T>
  static Array of(std::initializer_list<T> values) {
    return from<T>({static_cast<std::int64_t>(values.size())},
                   std::span<const T>(values.begin(), values.size()));
  }
  /// An array without axes.
  template <Element T>
  static Array scalar(T value) {
    return from<T>({}, std::span<const T>(&value, 1));
  }
  /// 0, 1, 2, ... in order.
  template <Element T>
  static Array range(Shape shape);
  /// Refers to existing elements without a copy; `owner` keeps them alive and unchanged.
  /// @throws Error kShape unless the shape has values.size() elements
  template <Element T>
  static Array wrap(const Shape& shape, std::span<const T> values,
                    const std::shared_ptr<const void>& owner) {
    return wrap_bytes(element_type<T>(), shape, std::as_bytes(values), owner);
  }

  /// The type of the elements.
  [[nodiscard]] ElementType element() const { return element_; }
  /// The extents.
  [[nodiscard]] const Shape& shape() const { return shape_; }
  /// The number of axes.
  [[nodiscard]] std::size_t rank() const { return shape_.size(); }
  /// The number of elements.
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The elements, as they lie in memory.
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {data_.get(), size_ * size_bytes(element_)};
  }
  /// The elements. @throws Error kUsage if T is not the element type
  template <Element T>
  [[nodiscard]] std::span<const T> as() const {
    check_element(element_type<T>());
    return {reinterpret_cast<const T*>(data_.get()), size_};
  }
  /// The only element. @throws Error kUsage if T is not the element type or size() != 1
  template <Element T>
  [[nodiscard]] T item() const {
    check_single();
    return as<T>()[0];
  }
  /// "float32[8, 5]".
  [[nodiscard]] std::string type() const;
  /// Whether element type and shape are equal.
  [[nodiscard]] bool same_type(const Array& other) const {
    return element_ == other.element_ && shape_ == other.shape_;
  }

  /// The same elements in another shape. @throws Error kShape if the counts differ
  [[nodiscard]] Array reshaped(Shape shape) const;
  /// Entries [begin, begin + count) along an axis.
  /// @throws Error kShape if there is no such axis or the axis is shorter
  [[nodiscard]] Array part(std::size_t axis, std::int64_t begin, std::int64_t count) const;
  /// Entry `index` along an axis, without that axis. @throws Error kShape as part()
  [[nodiscard]] Array slice(std::size_t axis, std::int64_t index) const;

 private:
  friend HALFTONE_CPP_API ArrayDraft draft(ElementType element, Shape shape);

  static Array wrap_bytes(ElementType element, Shape shape, std::span<const std::byte> bytes,
                          std::shared_ptr<const void> owner);
  void check_element(ElementType wanted) const;
  void check_single() const;

  ElementType element_ = ElementType::kFloat32;
  Shape shape_{0};
  std::size_t size_ = 0;
  std::shared_ptr<const std::byte> data_;  // shared: passing an array copies no elements
};

/// A new array; `bytes` may be written until the array is shared.
struct ArrayDraft {
  Array array;
  std::span<std::byte> bytes;
};
/// Memory for an array, 64-byte aligned, not initialised.
/// @throws Error kShape as Array::make(); kUnsupported if there is no such type
HALFTONE_CPP_API ArrayDraft draft(ElementType element, Shape shape);

/// Stacks arrays of one type along a new axis: n arrays [a, b] and axis 1 give [a, n, b].
/// @throws Error kShape if there are no arrays, their types differ or axis > rank
HALFTONE_CPP_API Array stack(std::span<const Array> arrays, std::size_t axis = 0);
/// Concatenates arrays along an existing axis.
/// @throws Error kShape if there are no arrays, they have no such axis, or their types differ
///         outside of it
HALFTONE_CPP_API Array concatenate(std::span<const Array> arrays, std::size_t axis = 0);

template <Element T, typename Fill>
Array Array::make(Shape shape, Fill&& fill) {
  const ArrayDraft result = draft(element_type<T>(), std::move(shape));
  std::forward<Fill>(fill)(
      std::span<T>(reinterpret_cast<T*>(result.bytes.data()), result.bytes.size() / sizeof(T)));
  return result.array;
}

template <Element T>
Array Array::from(Shape shape, std::span<const T> values) {
  static_cast<void>(wrap(shape, values, nullptr));  // checks the count
  return make<T>(std::move(shape), [values](std::span<T> elements) {
    std::copy(values.begin(), values.end(), elements.begin());
  });
}

template <Element T>
Array Array::range(Shape shape) {
  return make<T>(std::move(shape),
                 [](std::span<T> elements) { std::iota(elements.begin(), elements.end(), T{}); });
}

}  // namespace v0
}  // namespace halftone::spmd
