// SPDX-License-Identifier: Apache-2.0
// Arrays that networks read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The type of an element.
  enum class Type : std::uint8_t {
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
    kFloat16,  ///< IEEE 754 binary16, as the integers of their bits
    kBfloat16  ///< the upper half of a float32, likewise
  };

  /// NumPy's name of a type: "float32", "int8", ...
  HALFTONE_CPP_API std::string_view to_string(Type type);
  /// Bytes of an element.
  HALFTONE_CPP_API std::size_t size_bytes(Type type);

  /// The extents of an array, the outermost first; one without axes has a single element.
  using Extents = std::vector<std::size_t>;

  /// Elements in row-major order, in memory of its own.
  class HALFTONE_CPP_API Tensor {
   public:
    /// No elements: float32[0].
    Tensor();
    /// Zeros.
    /// @throws Error kShape if there are more than 2^40 bytes
    Tensor(Type type, Extents shape);
    /// The values of an array.
    /// @param values  one for each element
    /// @throws Error kShape if their number differs
    template <typename T>
    Tensor(Extents shape, const std::vector<T>& values) : Tensor(type_of<T>(), std::move(shape)) {
      fill(std::as_bytes(std::span(values)));
    }

    [[nodiscard]] Type type() const { return type_; }              ///< of the elements
    [[nodiscard]] const Extents& shape() const { return shape_; }  ///< the outermost first
    /// The number of elements.
    [[nodiscard]] std::size_t size() const { return bytes_.size() / size_bytes(type_); }
    /// The elements, as they lie in memory.
    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }
    /// The same, to be changed.
    [[nodiscard]] std::span<std::byte> bytes() { return bytes_; }

    /// The elements, [size()].
    /// @tparam T  the C++ type of an element; std::uint16_t for floats of 16 bits, std::uint8_t for
    ///            booleans
    /// @throws Error kUsage if T is another type
    template <typename T>
    [[nodiscard]] std::span<const T> values() const {
      check_type(type_of<T>());
      return {reinterpret_cast<const T*>(bytes_.data()), size()};
    }
    /// The same, to be changed.
    template <typename T>
    [[nodiscard]] std::span<T> values() {
      check_type(type_of<T>());
      return {reinterpret_cast<T*>(bytes_.data()), size()};
    }

    bool operator==(const Tensor& other) const = default;

   private:
    template <typename T>
    static constexpr Type type_of() {
      if constexpr (std::is_same_v<T, float>) return Type::kFloat32;
      if constexpr (std::is_same_v<T, double>) return Type::kFloat64;
      if constexpr (std::is_same_v<T, std::int8_t>) return Type::kInt8;
      if constexpr (std::is_same_v<T, std::uint8_t>) return Type::kUint8;
      if constexpr (std::is_same_v<T, std::int16_t>) return Type::kInt16;
      if constexpr (std::is_same_v<T, std::uint16_t>) return Type::kUint16;
      if constexpr (std::is_same_v<T, std::int32_t>) return Type::kInt32;
      if constexpr (std::is_same_v<T, std::uint32_t>) return Type::kUint32;
      if constexpr (std::is_same_v<T, std::int64_t>) return Type::kInt64;
      if constexpr (std::is_same_v<T, std::uint64_t>) return Type::kUint64;
    }
    void fill(std::span<const std::byte> bytes);
    void check_type(Type wanted) const;

    Type type_ = Type::kFloat32;
    Extents shape_;
    std::vector<std::byte> bytes_;
  };

  /// An extent that a run determines: the batch.
  inline constexpr std::int64_t kOpen = -1;

  /// An input or output of a network.
  struct Port {
    std::string name;
    Type type = Type::kFloat32;
    std::vector<std::int64_t> extents;  ///< kOpen for the batch and others
  };

}  // namespace v0
}  // namespace halftone
