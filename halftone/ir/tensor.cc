// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/ir/element.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::ir {
namespace {

/// static_cast that saturates at the limits of the target; NaN becomes 0.
template <typename To, typename From>
To saturated(From x) {
  if constexpr (std::is_integral_v<To>) {
    constexpr auto kLow = std::numeric_limits<To>::lowest();
    constexpr auto kHigh = std::numeric_limits<To>::max();
    if constexpr (std::is_integral_v<From>) {
      if (std::cmp_less(x, kLow)) return kLow;
      if (std::cmp_greater(x, kHigh)) return kHigh;
    } else {
      if (std::isnan(x)) return 0;
      // As a double, kHigh of int64 is 2^63, which int64 cannot hold: hence >=.
      if (static_cast<double>(x) <= static_cast<double>(kLow)) return kLow;
      if (static_cast<double>(x) >= static_cast<double>(kHigh)) return kHigh;
    }
  }
  return static_cast<To>(x);
}

}  // namespace

void require_graph_element(ElementType type) {
  if (type == ElementType::kFloat64) {
    fail(ErrorKind::kUnsupported, "elements of float64: convert them to float32");
  }
}

std::string Encoding::to_string() const {
  if (is_dense()) return std::string(ir::to_string(element));
  if (blocks != nullptr) return std::string(blocks->name);
  std::string text = std::string(system_name(*codes)) + "(" + std::to_string(codes->bits) +
                     (codes->bits == 1 ? " bit" : " bits");
  if (codes->granularity == numerics::Granularity::kGroup) {
    text += ", groups of " + std::to_string(codes->group_size);
  } else {
    text += ", " + std::string(numerics::to_string(codes->granularity));
  }
  if (codes->has_offset) text += ", offset";
  if (const numerics::NumberType type = codes->scales.type();
      type != numerics::NumberType::kFloat32 && type != numerics::NumberType::kFloat16) {
    text += ", scales " + std::string(numerics::to_string(type));
    if (const std::size_t share = codes->scales.sharing().share; share != 0) {
      text += " x " + std::string(numerics::to_string(codes->scales.factor_type())) + " of " +
              std::to_string(share) + " groups";
    }
  }
  return text + ")";
}

bool Encoding::operator==(const Encoding& other) const {
  if (element != other.element || !numerics::are_equal(blocks, other.blocks)) return false;
  if (codes == nullptr || other.codes == nullptr) return codes == other.codes;
  return codes == other.codes || *codes == *other.codes;
}

std::string ValueType::to_string() const { return encoding.to_string() + shape.to_string(); }

ValueType dense_type(ElementType element, Shape shape) {
  return {std::move(shape), {element, nullptr}};
}

Tensor::Tensor(ElementType element, Shape shape)
    : element_(element),
      shape_(std::move(shape)),
      size_(shape_.element_count()),
      buffer_(size_ * ir::size_bytes(element)) {
  require_graph_element(element);
}

Tensor Tensor::view(ElementType element, Shape shape, SharedBytes bytes) {
  require_graph_element(element);
  const std::size_t width = ir::size_bytes(element);
  Tensor tensor;
  tensor.element_ = element;
  tensor.shape_ = std::move(shape);
  tensor.size_ = tensor.shape_.element_count();
  if (tensor.size_ * width != bytes.bytes.size()) {
    fail(ErrorKind::kShape, "tensor " + tensor.type().to_string() + ": expected " +
                                std::to_string(tensor.size_ * width) + " bytes, found " +
                                std::to_string(bytes.bytes.size()));
  }
  const bool is_aligned = reinterpret_cast<std::uintptr_t>(bytes.bytes.data()) % width == 0;
  tensor.view_ = std::move(bytes);
  if (!is_aligned || tensor.view_.readable_behind < AlignedBuffer::kAlignment) {
    tensor.take_ownership();
  }
  return tensor;
}

void Tensor::take_ownership() {
  const SharedBytes view = std::exchange(view_, {});
  buffer_ = AlignedBuffer(view.bytes.size());
  std::ranges::copy(view.bytes, buffer_.bytes().begin());
}

void Tensor::check_element(ElementType wanted) const {
  const bool bytes = wanted == ElementType::kUint8 && element_ == ElementType::kBool;
  const bool halves = wanted == ElementType::kUint16 && is_half(element_);
  if (wanted != element_ && !bytes && !halves) {
    fail(ErrorKind::kInternal, "tensor: expected elements of " +
                                   std::string(ir::to_string(wanted)) + ", found " +
                                   std::string(ir::to_string(element_)));
  }
}

void Tensor::fail_count(const Shape& shape, std::size_t found) {
  fail(ErrorKind::kShape, "tensor of shape " + shape.to_string() + ": expected " +
                              std::to_string(shape.element_count()) + " elements, found " +
                              std::to_string(found));
}

Tensor Tensor::clone() const { return reshaped(shape_); }

Tensor Tensor::reshaped(Shape shape) const {
  if (shape.element_count() != size_) fail_count(shape, size_);
  if (is_view()) return view(element_, std::move(shape), view_);
  Tensor copy(element_, std::move(shape));
  std::copy(bytes().begin(), bytes().end(), copy.bytes().begin());
  return copy;
}

Tensor Tensor::widened() const {
  Tensor result(ElementType::kFloat32, shape_);
  std::ranges::transform(as<std::uint16_t>(), result.as<float>().begin(),
                         element_ == ElementType::kFloat16 ? float_from_half : float_from_bfloat16);
  return result;
}

Tensor Tensor::narrowed(ElementType element) const {
  Tensor result(element, shape_);
  std::ranges::transform(as<float>(), result.as<std::uint16_t>().begin(),
                         element == ElementType::kFloat16 ? half_from_float : bfloat16_from_float);
  return result;
}

Tensor Tensor::cast(ElementType element) const {
  if (element == element_ && element != ElementType::kBool) return clone();
  if (is_half(element_)) {
    Tensor wide = widened();
    return element == ElementType::kFloat32 ? std::move(wide) : wide.cast(element);
  }
  if (is_half(element)) {
    if (element_ == ElementType::kFloat32) return narrowed(element);
    return cast(ElementType::kFloat32).narrowed(element);
  }
  Tensor result(element, shape_);
  with_element(element_, [&](auto source) {
    const auto from = as<decltype(source)>();
    with_element(element, [&](auto target) {
      const auto to = result.as<decltype(target)>();
      for (std::size_t i = 0; i < size_; ++i) {
        using Target = decltype(target);
        to[i] = element == ElementType::kBool ? static_cast<Target>(from[i] != 0)
                                              : saturated<Target>(from[i]);
      }
    });
  });
  return result;
}

ValueType type_of(const Constant& constant) {
  return std::visit([](const auto& held) { return held.type(); }, constant);
}

Tensor to_float(const Constant& constant) {
  if (const auto* dense = std::get_if<Tensor>(&constant)) {
    if (dense->element() == ElementType::kBool) {
      fail(ErrorKind::kUnsupported,
           "expected float32 or integers, found bool" + dense->shape().to_string());
    }
    return dense->cast(ElementType::kFloat32);
  }
  if (const auto* blocks = std::get_if<BlockTensor>(&constant)) {
    Tensor values(ElementType::kFloat32, blocks->shape);
    numerics::decode_blocks(*blocks->encoding, blocks->bytes.bytes, values.as<float>());
    return values;
  }
  const auto& encoded = std::get<EncodedTensor>(constant);
  Tensor values(ElementType::kFloat32, encoded.shape);
  numerics::decode(encoded.codes, *encoded.encoding, values.as<float>());
  return values;
}

std::size_t storage_bytes(const Constant& constant) {
  if (const auto* dense = std::get_if<Tensor>(&constant)) return dense->bytes().size();
  if (const auto* blocks = std::get_if<BlockTensor>(&constant)) return blocks->bytes.bytes.size();
  const auto& encoded = std::get<EncodedTensor>(constant);
  const auto [rows, cols] = matrix_extent(encoded.shape);
  const auto bits = static_cast<std::size_t>(encoded.encoding->bits);
  const std::size_t number_bytes = (encoded.encoding->compact().stored_bits() + 7) / 8;
  if (const auto& vectors = encoded.encoding->vectors) {
    return rows * numerics::vector_row_bytes(*vectors, cols) + number_bytes;
  }
  return rows * bits * ((cols + 7) / 8) + number_bytes;
}

void release_pages(const Constant& constant) {
  if (const auto* tensor = std::get_if<Tensor>(&constant)) tensor->release_pages();
  if (const auto* blocks = std::get_if<BlockTensor>(&constant)) blocks->bytes.release_pages();
}

}  // namespace halftone::ir
