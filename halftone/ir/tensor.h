// SPDX-License-Identifier: Apache-2.0
// Contents of a value: dense elements, or codes of a basis encoding.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/element_type.h"
#include "halftone/ir/shape.h"
#include "halftone/numerics/encoding.h"

namespace halftone::ir {

using halftone::ElementType;
using halftone::ElementTypeOf;
using halftone::size_bytes;
using halftone::to_string;

/// Representation of a value's elements: dense, or codes of a basis.
struct Encoding {
  ElementType element = ElementType::kFloat32;  ///< type of an element, or of a decoded code
  /// Null if dense. Shared, because types are copied often and a large weight has many bases.
  std::shared_ptr<const numerics::BasisEncoding> basis;

  [[nodiscard]] bool is_dense() const { return basis == nullptr; }
  [[nodiscard]] std::string to_string() const;  ///< "float32", "basis(2 bits, channel, offset)"

  bool operator==(const Encoding& other) const;
};

struct ValueType {
  Shape shape;
  Encoding encoding;

  [[nodiscard]] bool is_dense(ElementType element) const {
    return encoding.is_dense() && encoding.element == element;
  }
  [[nodiscard]] std::string to_string() const;  ///< "float32[N, 784]"

  bool operator==(const ValueType&) const = default;
};

/// A dense type: element and extents.
ValueType dense_type(ElementType element, Shape shape);

/// Dense elements in row-major order. Owns its memory; move-only, clone() copies.
class Tensor {
 public:
  Tensor() = default;
  /// Zeros.
  /// @throws Error kShape if the shape is not static or too large to allocate; kUnsupported if
  ///         graphs do not hold such elements (require_graph_element)
  Tensor(ElementType element, Shape shape);
  /// @throws Error kShape if values.size() differs from the shape's element count
  template <typename T>
  static Tensor from(Shape shape, std::span<const T> values);

  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] ValueType type() const { return dense_type(element_, shape_); }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] std::span<std::byte> bytes() { return buffer_.bytes(); }
  [[nodiscard]] std::span<const std::byte> bytes() const { return buffer_.bytes(); }

  /// The elements. @throws Error kInternal if T is not the element type
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    check_element(ElementTypeOf<T>::value);
    return buffer_.as<T>().first(size_);
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    check_element(ElementTypeOf<T>::value);
    return buffer_.as<T>().first(size_);
  }

  [[nodiscard]] Tensor clone() const;
  /// The same elements under another shape. @throws Error kShape if the counts differ
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  /// Converts each element like static_cast, but saturating. NaN becomes integer 0; kBool is x !=
  /// 0.
  [[nodiscard]] Tensor cast(ElementType element) const;

 private:
  void check_element(ElementType wanted) const;
  [[noreturn]] static void fail_count(const Shape& shape, std::size_t found);

  ElementType element_ = ElementType::kFloat32;
  Shape shape_{0};
  std::size_t size_ = 0;
  AlignedBuffer buffer_;
};

/// Codes of a basis encoding, stored as canonical bit planes over matrix_extent(shape).
struct EncodedTensor {
  Shape shape;
  std::shared_ptr<const numerics::BasisEncoding> encoding;
  numerics::BitPlanes codes;

  [[nodiscard]] ValueType type() const { return {shape, {ElementType::kFloat32, encoding}}; }
};

/// The contents of a constant value.
using Constant = std::variant<Tensor, EncodedTensor>;

[[nodiscard]] ValueType type_of(const Constant& constant);
/// The elements as float32, decoded if they are codes.
/// @throws Error kUnsupported if the elements are booleans (kBool)
[[nodiscard]] Tensor to_float(const Constant& constant);
/// Bytes of the elements, or of the codes with their bases and offsets.
[[nodiscard]] std::size_t storage_bytes(const Constant& constant);

template <typename T>
Tensor Tensor::from(Shape shape, std::span<const T> values) {
  if (values.size() != shape.element_count()) fail_count(shape, values.size());
  Tensor tensor(ElementTypeOf<T>::value, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

}  // namespace halftone::ir
