// SPDX-License-Identifier: Apache-2.0
#include "halftone/tensor.hpp"

#include <algorithm>
#include <string>

#include "halftone/base/element_type.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

// The same types in the same order, so that a cast converts them.
static_assert(static_cast<int>(Type::kFloat32) == static_cast<int>(ElementType::kFloat32));
static_assert(static_cast<int>(Type::kInt8) == static_cast<int>(ElementType::kInt8));
static_assert(static_cast<int>(Type::kUint8) == static_cast<int>(ElementType::kUint8));
static_assert(static_cast<int>(Type::kInt32) == static_cast<int>(ElementType::kInt32));
static_assert(static_cast<int>(Type::kInt64) == static_cast<int>(ElementType::kInt64));
static_assert(static_cast<int>(Type::kBool) == static_cast<int>(ElementType::kBool));
static_assert(static_cast<int>(Type::kInt16) == static_cast<int>(ElementType::kInt16));
static_assert(static_cast<int>(Type::kUint16) == static_cast<int>(ElementType::kUint16));
static_assert(static_cast<int>(Type::kUint32) == static_cast<int>(ElementType::kUint32));
static_assert(static_cast<int>(Type::kUint64) == static_cast<int>(ElementType::kUint64));
static_assert(static_cast<int>(Type::kFloat64) == static_cast<int>(ElementType::kFloat64));
static_assert(static_cast<int>(Type::kFloat16) == static_cast<int>(ElementType::kFloat16));
static_assert(static_cast<int>(Type::kBfloat16) == static_cast<int>(ElementType::kBfloat16));

ElementType element_of(Type type) { return static_cast<ElementType>(type); }

std::size_t bytes_of(Type type, const Extents& shape) {
  constexpr std::size_t kMost = std::size_t{1} << 40;
  std::size_t bytes = size_bytes(type);
  if (std::ranges::find(shape, std::size_t{0}) != shape.end()) return 0;
  for (const std::size_t extent : shape) {
    if (extent > kMost / bytes) {
      throw Error(ErrorKind::kShape, "tensor: expected at most 2^40 bytes, found more");
    }
    bytes *= extent;
  }
  return bytes;
}

}  // namespace

std::string_view to_string(Type type) { return halftone::to_string(element_of(type)); }

std::size_t size_bytes(Type type) {
  return at_border([&] { return halftone::size_bytes(element_of(type)); });
}

Tensor::Tensor() : shape_{0} {}

Tensor::Tensor(Type type, Extents shape)
    : type_(type), shape_(std::move(shape)), bytes_(bytes_of(type, shape_)) {}

void Tensor::fill(std::span<const std::byte> bytes) {
  if (bytes.size() != bytes_.size()) {
    const std::size_t each = size_bytes(type_);
    throw Error(ErrorKind::kShape, "tensor: expected " + std::to_string(size()) +
                                       " values, found " + std::to_string(bytes.size() / each));
  }
  std::ranges::copy(bytes, bytes_.begin());
}

void Tensor::check_type(Type wanted) const {
  const bool is_half = type_ == Type::kFloat16 || type_ == Type::kBfloat16;
  const Type stored = is_half ? Type::kUint16 : type_ == Type::kBool ? Type::kUint8 : type_;
  if (stored == wanted) return;
  throw Error(ErrorKind::kUsage, "tensor: expected values of " + std::string(to_string(type_)) +
                                     ", asked for " + std::string(to_string(wanted)));
}

ir::Tensor to_internal(const Tensor& tensor) {
  ir::Tensor result(element_of(tensor.type()),
                    ir::Shape(std::vector<ir::Dim>(tensor.shape().begin(), tensor.shape().end())));
  std::ranges::copy(tensor.bytes(), result.bytes().begin());
  return result;
}

Tensor to_public(const ir::Tensor& tensor) {
  const auto extents = tensor.shape().dims();
  Tensor result(static_cast<Type>(tensor.element()), Extents(extents.begin(), extents.end()));
  std::ranges::copy(tensor.bytes(), result.bytes().begin());
  return result;
}

}  // namespace halftone::v0
