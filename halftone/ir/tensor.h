// SPDX-License-Identifier: Apache-2.0
// Contents of a value: dense elements, or codes of a number system.
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
#include "halftone/base/shared_bytes.h"
#include "halftone/ir/shape.h"
#include "halftone/numerics/block_encoding.h"
#include "halftone/numerics/encoding.h"

namespace halftone::ir {

using halftone::ElementType;
using halftone::ElementTypeOf;
using halftone::size_bytes;
using halftone::to_string;

/// Representation of a value's elements: dense, or codes of a number system.
struct Encoding {
  ElementType element = ElementType::kFloat32;  ///< type of an element, or of a decoded code
  /// What the codes mean; null if dense. Shared, because types are copied often and a large weight
  /// has many scales.
  std::shared_ptr<const numerics::MatrixEncoding> codes{};
  /// How a file stores a constant in blocks; null if it does not. Shared with the constant.
  numerics::SharedBlockEncoding blocks{};

  [[nodiscard]] bool is_dense() const { return codes == nullptr && blocks == nullptr; }
  /// "float32", "basis(2 bits, channel, offset)", "Q4_0"
  [[nodiscard]] std::string to_string() const;

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

/// Dense elements in row-major order, in memory of its own, or a view of bytes that somebody else
/// owns, such as a mapped file. Move-only, clone() copies. At least 64 bytes behind the elements
/// may be read.
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
  /// A view of elements in the order and representation of this processor. Bytes that are not
  /// aligned to their elements, or with too little behind them, are copied.
  /// @throws Error kShape unless there are as many bytes as the shape needs; as Tensor()
  static Tensor view(ElementType element, Shape shape, SharedBytes bytes);

  [[nodiscard]] ElementType element() const { return element_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] ValueType type() const { return dense_type(element_, shape_); }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// The first access to the elements of a view that may change them copies them.
  [[nodiscard]] std::span<std::byte> bytes() {
    if (view_.owner != nullptr) take_ownership();
    return buffer_.bytes();
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return view_.owner != nullptr ? view_.bytes : buffer_.bytes();
  }
  [[nodiscard]] bool is_view() const { return view_.owner != nullptr; }
  /// SharedBytes::release_pages() of a view.
  void release_pages() const { view_.release_pages(); }

  /// The elements; of floats of 16 bits, std::uint16_t with their bits.
  /// @throws Error kInternal if T is not the element type
  template <typename T>
  [[nodiscard]] std::span<T> as() {
    check_element(ElementTypeOf<T>::value);
    return {reinterpret_cast<T*>(bytes().data()), size_};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    check_element(ElementTypeOf<T>::value);
    return {reinterpret_cast<const T*>(bytes().data()), size_};
  }

  [[nodiscard]] Tensor clone() const;
  /// The same elements under another shape; a view remains one.
  /// @throws Error kShape if the counts differ
  [[nodiscard]] Tensor reshaped(Shape shape) const;
  /// Converts each element like static_cast, but saturating. NaN becomes integer 0; kBool is x !=
  /// 0; floats of 16 bits are the nearest, ties to even. A view cast to its own type remains one.
  [[nodiscard]] Tensor cast(ElementType element) const;

 private:
  void check_element(ElementType wanted) const;
  [[nodiscard]] Tensor widened() const;
  [[nodiscard]] Tensor narrowed(ElementType element) const;
  void take_ownership();
  [[noreturn]] static void fail_count(const Shape& shape, std::size_t found);

  ElementType element_ = ElementType::kFloat32;
  Shape shape_{0};
  std::size_t size_ = 0;
  AlignedBuffer buffer_;  ///< empty for a view
  SharedBytes view_;      ///< no owner: not a view
};

/// Codes, stored as canonical bit planes over matrix_extent(shape).
struct EncodedTensor {
  Shape shape;
  std::shared_ptr<const numerics::MatrixEncoding> encoding;
  numerics::BitPlanes codes;

  [[nodiscard]] ValueType type() const { return {shape, {ElementType::kFloat32, encoding}}; }
};

/// A matrix as a file stores it: rows of blocks, in memory that somebody else owns.
struct BlockTensor {
  Shape shape;  ///< the last extent is a multiple of the block
  numerics::SharedBlockEncoding encoding;
  SharedBytes bytes;

  [[nodiscard]] ValueType type() const {
    return {shape, {ElementType::kFloat32, nullptr, encoding}};
  }
  [[nodiscard]] std::size_t row_bytes() const {
    return encoding->bytes_of(matrix_extent(shape).cols);
  }
  /// The blocks of a row of the matrix_extent().
  [[nodiscard]] std::span<const std::byte> row(std::size_t index) const {
    return bytes.bytes.subspan(index * row_bytes(), row_bytes());
  }
};

/// The contents of a constant value.
using Constant = std::variant<Tensor, EncodedTensor, BlockTensor>;

/// SharedBytes::release_pages() of a constant that is a view of a mapped file.
void release_pages(const Constant& constant);

[[nodiscard]] ValueType type_of(const Constant& constant);
/// The elements as float32, decoded if they are codes.
/// @throws Error kUnsupported if the elements are booleans (kBool)
[[nodiscard]] Tensor to_float(const Constant& constant);
/// Bytes of the elements, or of the codes with their scales and offsets, as files store them.
[[nodiscard]] std::size_t storage_bytes(const Constant& constant);

template <typename T>
Tensor Tensor::from(Shape shape, std::span<const T> values) {
  if (values.size() != shape.element_count()) fail_count(shape, values.size());
  Tensor tensor(ElementTypeOf<T>::value, std::move(shape));
  std::copy(values.begin(), values.end(), tensor.as<T>().begin());
  return tensor;
}

}  // namespace halftone::ir
