// SPDX-License-Identifier: Apache-2.0
// Memory of Python arrays, by the buffer protocol.
#pragma once

#include <nanobind/nanobind.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/element_type.h"
#include "halftone/base/shared_bytes.h"

namespace halftone::python {

enum class Access { kRead, kWrite };

/// Contiguous memory of an object that exports a buffer, held until this is destroyed. It is
/// created and destroyed with the GIL; the memory may be used without.
class Array {
 public:
  /// @throws nb::python_error BufferError or TypeError if there is no such buffer: in C order, and
  ///         writable for kWrite
  Array(nanobind::handle object, Access access);
  Array(Array&& other) noexcept : view_(std::move(other.view_)) {}
  Array& operator=(Array&&) = delete;
  ~Array();

  /// @throws Error kUsage if elements are of no type of ours, or of the other byte order
  [[nodiscard]] ElementType element() const;
  [[nodiscard]] std::vector<std::size_t> shape() const;
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(view_->buf), static_cast<std::size_t>(view_->len)};
  }
  /// @pre kWrite
  [[nodiscard]] std::span<std::byte> writable_bytes() const {
    return {static_cast<std::byte*>(view_->buf), static_cast<std::size_t>(view_->len)};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return {static_cast<const T*>(view_->buf), static_cast<std::size_t>(view_->len) / sizeof(T)};
  }
  template <typename T>
  [[nodiscard]] std::span<T> writable() const {
    return {static_cast<T*>(view_->buf), static_cast<std::size_t>(view_->len) / sizeof(T)};
  }

 private:
  // The view holds pointers into itself, so it must not move.
  std::unique_ptr<Py_buffer> view_;
};

/// The memory of an object, which it keeps alive; the last owner may let go without the GIL.
SharedBytes share(Array array);

/// The types of NumPy as they are named there: "float32", "bool", ...
std::string numpy_name(ElementType element);

}  // namespace halftone::python
