// SPDX-License-Identifier: Apache-2.0
#include "python/src/array.h"

#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

std::optional<ElementType> integer_of(Py_ssize_t bytes, bool is_signed) {
  switch (bytes) {
    case 1:
      return is_signed ? ElementType::kInt8 : ElementType::kUint8;
    case 2:
      return is_signed ? ElementType::kInt16 : ElementType::kUint16;
    case 4:
      return is_signed ? ElementType::kInt32 : ElementType::kUint32;
    case 8:
      return is_signed ? ElementType::kInt64 : ElementType::kUint64;
    default:
      return std::nullopt;
  }
}

/// The element type of a format of Python's struct module.
std::optional<ElementType> element_of(std::string_view format, Py_ssize_t bytes) {
  constexpr char kNative = std::endian::native == std::endian::little ? '<' : '>';
  if (format.size() == 2 && (format[0] == '@' || format[0] == '=' || format[0] == kNative)) {
    format.remove_prefix(1);
  }
  if (format == "f") return ElementType::kFloat32;
  if (format == "d") return ElementType::kFloat64;
  if (format == "e") return ElementType::kFloat16;
  if (format == "?") return ElementType::kBool;
  if (format.size() != 1) return std::nullopt;
  constexpr std::string_view kSigned = "bhilqn";
  constexpr std::string_view kUnsigned = "BHILQN";
  if (kSigned.find(format[0]) != std::string_view::npos) return integer_of(bytes, true);
  if (kUnsigned.find(format[0]) != std::string_view::npos) return integer_of(bytes, false);
  return std::nullopt;
}

}  // namespace

Array::Array(nb::handle object, Access access) : view_(std::make_unique<Py_buffer>()) {
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT;
  const int wanted = access == Access::kWrite ? flags | PyBUF_WRITABLE : flags;
  if (PyObject_GetBuffer(object.ptr(), view_.get(), wanted) == 0) return;
  view_.reset();
  throw nb::python_error();
}

Array::~Array() {
  if (view_ != nullptr) PyBuffer_Release(view_.get());
}

ElementType Array::element() const {
  const std::string_view format = view_->format == nullptr ? "B" : view_->format;
  const auto element = element_of(format, view_->itemsize);
  if (element) return *element;
  fail(ErrorKind::kUsage, "array: expected numbers in the order of this processor, found format '" +
                              std::string(format) + "'");
}

std::vector<std::size_t> Array::shape() const { return {view_->shape, view_->shape + view_->ndim}; }

SharedBytes share(Array array) {
  const auto release = [](Array* held) {
    // A process that ends may still let go of data when the interpreter is gone.
    if (!Py_IsInitialized()) return;
    const nb::gil_scoped_acquire gil;
    std::unique_ptr<Array> owner(held);
  };
  const std::shared_ptr<Array> owner(std::make_unique<Array>(std::move(array)).release(), release);
  return {owner, owner->bytes()};
}

std::string numpy_name(ElementType element) { return std::string(to_string(element)); }

}  // namespace halftone::python
