// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/tensors.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/ir/extent.h"
#include "halftone/numerics/systems.h"

namespace halftone::formats::onnx {
namespace {

using onnx_pb::TensorProto;

static_assert(std::endian::native == std::endian::little, "files are little-endian");

/// The limit on axes keeps hostile files from making every shape operation slow.
constexpr int kMaxAxes = 32;

ir::Shape shape_of(const TensorProto& proto) {
  if (proto.dims_size() > kMaxAxes) {
    fail(ErrorKind::kUnsupported, "expected at most " + std::to_string(kMaxAxes) + " axes, found " +
                                      std::to_string(proto.dims_size()));
  }
  for (const std::int64_t dim : proto.dims()) {
    if (dim < 0) fail(ErrorKind::kFormat, "expected extents >= 0, found " + std::to_string(dim));
  }
  return ir::Shape(std::vector<ir::Dim>(proto.dims().begin(), proto.dims().end()));
}

void check_count(const char* field, std::size_t expected, std::size_t found) {
  if (expected != found) {
    fail(ErrorKind::kFormat, std::string(field) + ": expected " + std::to_string(expected) +
                                 " for these extents, found " + std::to_string(found));
  }
}

/// The typed field that holds elements of type T where there are no raw bytes.
template <typename T>
const auto& typed_field(const TensorProto& proto) {
  if constexpr (std::is_same_v<T, float>) {
    return proto.float_data();
  } else if constexpr (std::is_same_v<T, double>) {
    return proto.double_data();
  } else if constexpr (std::is_same_v<T, std::int64_t>) {
    return proto.int64_data();
  } else if constexpr (std::is_same_v<T, std::uint32_t> || std::is_same_v<T, std::uint64_t>) {
    return proto.uint64_data();
  } else {
    return proto.int32_data();
  }
}

/// The bytes of the elements, unless they are in a typed field. They have an owner if they stay
/// where they are for as long as it lives.
std::optional<SharedBytes> stored_bytes(const TensorProto& proto, std::size_t needed,
                                        const ReadExternal& external) {
  if (proto.data_location() == TensorProto::EXTERNAL) return external(proto, needed);
  if (!proto.has_raw_data()) return std::nullopt;
  check_count("bytes of raw data", needed, proto.raw_data().size());
  return SharedBytes{nullptr, std::as_bytes(std::span(proto.raw_data())), 0};
}

/// The elements of a typed field, `count` of them.
template <typename Stored>
std::vector<Stored> typed_elements(const TensorProto& proto, std::size_t count) {
  const auto& field = typed_field<Stored>(proto);
  check_count("elements", count, static_cast<std::size_t>(field.size()));
  std::vector<Stored> elements;
  elements.reserve(count);
  for (const auto value : field) {
    const auto narrow = static_cast<Stored>(value);
    if constexpr (std::is_integral_v<Stored>) {
      if (static_cast<std::remove_cv_t<decltype(value)>>(narrow) != value) {
        fail(ErrorKind::kFormat, "element " + std::to_string(value) + " is out of range");
      }
    }
    elements.push_back(narrow);
  }
  return elements;
}

/// The elements as they are stored, `count` of them.
template <typename Stored>
std::vector<Stored> stored_elements(const TensorProto& proto, std::size_t count,
                                    const ReadExternal& external) {
  const auto bytes = stored_bytes(proto, count * sizeof(Stored), external);
  if (!bytes) return typed_elements<Stored>(proto, count);
  std::vector<Stored> elements(count);
  if (count != 0) std::memcpy(elements.data(), bytes->bytes.data(), count * sizeof(Stored));
  return elements;
}

/// A tensor of the elements as they are stored.
template <typename Stored>
ir::Tensor decode_stored(const TensorProto& proto, const ReadExternal& external,
                         ir::ElementType element = ir::ElementTypeOf<Stored>::value) {
  ir::Shape shape = shape_of(proto);
  const std::size_t count = shape.element_count();
  if (auto bytes = stored_bytes(proto, count * sizeof(Stored), external)) {
    return ir::Tensor::view(element, std::move(shape), std::move(*bytes));
  }
  const auto elements = typed_elements<Stored>(proto, count);  // checks the count before it is used
  ir::Tensor result(element, shape);
  std::ranges::copy(elements, result.as<Stored>().begin());
  return result;
}

template <typename Stored, typename Value, typename Convert>
ir::Tensor decode_as(const TensorProto& proto, const ReadExternal& external,
                     ir::ElementType element, Convert&& convert) {
  const ir::Shape shape = shape_of(proto);
  const std::vector<Stored> stored =
      stored_elements<Stored>(proto, shape.element_count(), external);
  ir::Tensor result(element, shape);
  std::ranges::transform(stored, result.as<Value>().begin(), convert);
  return result;
}

ir::Tensor decode_booleans(const TensorProto& proto, const ReadExternal& external) {
  return decode_as<std::uint8_t, std::uint8_t>(
      proto, external, ir::ElementType::kBool,
      [](std::uint8_t value) { return static_cast<std::uint8_t>(value != 0); });
}

ir::Tensor decode_halves(const TensorProto& proto, const ReadExternal& external,
                         ir::ElementType element, Halves halves) {
  ir::Tensor stored = decode_stored<std::uint16_t>(proto, external, element);
  return halves == Halves::kKeep ? std::move(stored) : stored.cast(ir::ElementType::kFloat32);
}

/// Codes of fewer than eight bits share bytes, the first in the lowest bits.
std::vector<std::uint8_t> unpacked(const TensorProto& proto, std::size_t count, int bits,
                                   const ReadExternal& external) {
  const auto width = static_cast<std::size_t>(bits);
  const std::size_t per_byte = 8 / width;
  auto packed = stored_elements<std::uint8_t>(proto, (count + per_byte - 1) / per_byte, external);
  if (per_byte == 1) return packed;
  std::vector<std::uint8_t> codes(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int shifted = packed[i / per_byte] >> (i % per_byte * width);
    codes[i] = static_cast<std::uint8_t>(shifted & ((1 << bits) - 1));
  }
  return codes;
}

/// Integers of two or four bits.
template <typename Value>
ir::Tensor decode_narrow(const TensorProto& proto, const ReadExternal& external) {
  const ir::Shape shape = shape_of(proto);
  const int bits = narrow_bits(proto.data_type());
  const auto codes = unpacked(proto, shape.element_count(), bits, external);
  ir::Tensor result(ir::ElementTypeOf<Value>::value, shape);
  std::ranges::transform(codes, result.as<Value>().begin(), [bits](int code) {
    const bool negative = std::is_signed_v<Value> && code >= 1 << (bits - 1);
    return static_cast<Value>(negative ? code - (1 << bits) : code);
  });
  return result;
}

/// The numbers of floats of up to eight bits, which float32 represents exactly.
ir::Tensor decode_small_floats(const TensorProto& proto, const ReadExternal& external) {
  if (float_system(proto.data_type()).empty()) {
    fail(ErrorKind::kUnsupported, "elements of type " + data_type_name(proto.data_type()));
  }
  return numbers_of_codes(decode_float_codes(proto, external), proto.data_type());
}

}  // namespace

ir::Tensor numbers_of_codes(const ir::Tensor& codes, std::int32_t data_type) {
  const auto& system = numerics::find_system(float_system(data_type));
  const auto codebook = numerics::codebook_of(system, narrow_bits(data_type));
  ir::Tensor numbers(ir::ElementType::kFloat32, codes.shape());
  std::ranges::transform(codes.as<std::uint8_t>(), numbers.as<float>().begin(),
                         [&](std::uint8_t code) { return codebook->levels()[code]; });
  return numbers;
}

std::string data_type_name(std::int32_t data_type) {
  static constexpr const char* kNames[] = {
      "undefined",      "float32",  "uint8",        "int8",           "uint16",
      "int16",          "int32",    "int64",        "string",         "bool",
      "float16",        "float64",  "uint32",       "uint64",         "complex64",
      "complex128",     "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2",
      "float8e5m2fnuz", "uint4",    "int4",         "float4e2m1",     "float8e8m0",
      "uint2",          "int2"};
  if (data_type < 0 || static_cast<std::size_t>(data_type) >= std::size(kNames)) {
    return "data type " + std::to_string(data_type);
  }
  return kNames[data_type];
}

std::optional<ir::ElementType> element_of(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT:
    case TensorProto::FLOAT16:
    case TensorProto::BFLOAT16:
    case TensorProto::DOUBLE:
    case TensorProto::FLOAT8E4M3FN:
    case TensorProto::FLOAT8E4M3FNUZ:
    case TensorProto::FLOAT8E5M2:
    case TensorProto::FLOAT8E5M2FNUZ:
    case TensorProto::FLOAT8E8M0:
    case TensorProto::FLOAT4E2M1:
      return ir::ElementType::kFloat32;
    case TensorProto::INT8:
    case TensorProto::INT4:
    case TensorProto::INT2:
      return ir::ElementType::kInt8;
    case TensorProto::UINT8:
    case TensorProto::UINT4:
    case TensorProto::UINT2:
      return ir::ElementType::kUint8;
    case TensorProto::INT16:
      return ir::ElementType::kInt16;
    case TensorProto::UINT16:
      return ir::ElementType::kUint16;
    case TensorProto::INT32:
      return ir::ElementType::kInt32;
    case TensorProto::UINT32:
      return ir::ElementType::kUint32;
    case TensorProto::INT64:
      return ir::ElementType::kInt64;
    case TensorProto::UINT64:
      return ir::ElementType::kUint64;
    case TensorProto::BOOL:
      return ir::ElementType::kBool;
    default:
      return std::nullopt;
  }
}

std::int32_t data_type_of(ir::ElementType element) {
  switch (element) {
    case ir::ElementType::kFloat32:
      return TensorProto::FLOAT;
    case ir::ElementType::kInt8:
      return TensorProto::INT8;
    case ir::ElementType::kUint8:
      return TensorProto::UINT8;
    case ir::ElementType::kInt32:
      return TensorProto::INT32;
    case ir::ElementType::kInt64:
      return TensorProto::INT64;
    case ir::ElementType::kBool:
      return TensorProto::BOOL;
    case ir::ElementType::kInt16:
      return TensorProto::INT16;
    case ir::ElementType::kUint16:
      return TensorProto::UINT16;
    case ir::ElementType::kUint32:
      return TensorProto::UINT32;
    case ir::ElementType::kUint64:
      return TensorProto::UINT64;
    case ir::ElementType::kFloat64:
      return TensorProto::DOUBLE;
    case ir::ElementType::kFloat16:
      return TensorProto::FLOAT16;
    case ir::ElementType::kBfloat16:
      return TensorProto::BFLOAT16;
  }
  return TensorProto::UNDEFINED;
}

ir::Tensor decode_tensor(const TensorProto& proto, const ReadExternal& external, Halves halves) {
  if (proto.has_segment()) fail(ErrorKind::kUnsupported, "segmented tensors are not supported");
  switch (proto.data_type()) {
    case TensorProto::FLOAT:
      return decode_stored<float>(proto, external);
    case TensorProto::FLOAT16:
      return decode_halves(proto, external, ir::ElementType::kFloat16, halves);
    case TensorProto::BFLOAT16:
      return decode_halves(proto, external, ir::ElementType::kBfloat16, halves);
    case TensorProto::DOUBLE:
      return decode_as<double, float>(proto, external, ir::ElementType::kFloat32,
                                      [](double x) { return static_cast<float>(x); });
    case TensorProto::INT8:
      return decode_stored<std::int8_t>(proto, external);
    case TensorProto::UINT8:
      return decode_stored<std::uint8_t>(proto, external);
    case TensorProto::INT16:
      return decode_stored<std::int16_t>(proto, external);
    case TensorProto::UINT16:
      return decode_stored<std::uint16_t>(proto, external);
    case TensorProto::INT32:
      return decode_stored<std::int32_t>(proto, external);
    case TensorProto::UINT32:
      return decode_stored<std::uint32_t>(proto, external);
    case TensorProto::INT64:
      return decode_stored<std::int64_t>(proto, external);
    case TensorProto::UINT64:
      return decode_stored<std::uint64_t>(proto, external);
    case TensorProto::BOOL:
      return decode_booleans(proto, external);
    case TensorProto::INT4:
    case TensorProto::INT2:
      return decode_narrow<std::int8_t>(proto, external);
    case TensorProto::UINT4:
    case TensorProto::UINT2:
      return decode_narrow<std::uint8_t>(proto, external);
    default:
      return decode_small_floats(proto, external);
  }
}

int narrow_bits(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::UINT2:
    case TensorProto::INT2:
      return 2;
    case TensorProto::UINT4:
    case TensorProto::INT4:
    case TensorProto::FLOAT4E2M1:
      return 4;
    case TensorProto::UINT8:
    case TensorProto::INT8:
      return 8;
    default:
      return float_system(data_type).empty() ? 0 : 8;
  }
}

std::string_view float_system(std::int32_t data_type) {
  switch (data_type) {
    case TensorProto::FLOAT8E4M3FN:
      return "e4m3";
    case TensorProto::FLOAT8E4M3FNUZ:
      return "e4m3fnuz";
    case TensorProto::FLOAT8E5M2:
      return "e5m2";
    case TensorProto::FLOAT8E5M2FNUZ:
      return "e5m2fnuz";
    case TensorProto::FLOAT8E8M0:
      return "e8m0";
    case TensorProto::FLOAT4E2M1:
      return "e2m1";
    default:
      return {};
  }
}

ir::Tensor decode_float_codes(const TensorProto& proto, const ReadExternal& external) {
  if (proto.has_segment()) fail(ErrorKind::kUnsupported, "segmented tensors are not supported");
  const ir::Shape shape = shape_of(proto);
  const int bits = narrow_bits(proto.data_type());
  const auto codes = unpacked(proto, shape.element_count(), bits, external);
  return ir::Tensor::from<std::uint8_t>(shape, codes);
}

ir::Tensor unpacked_codes(const ir::Tensor& bytes, int bits, ir::Dim count) {
  const auto given = bytes.shape().dims();
  if (given.empty() || bytes.element() != ir::ElementType::kUint8 ||
      given.back() < (count * bits + 7) / 8) {
    fail(ErrorKind::kShape, "expected uint8 with " + std::to_string(count) + " codes of " +
                                std::to_string(bits) + " bits in a row, found " +
                                bytes.type().to_string());
  }
  std::vector<ir::Dim> dims(given.begin(), given.end());
  dims.back() = count;
  ir::Tensor codes(ir::ElementType::kUint8, ir::Shape(std::move(dims)));
  const auto row_bytes = static_cast<std::size_t>(given.back());
  const auto row = static_cast<std::size_t>(count);
  const auto src = bytes.as<std::uint8_t>();
  const auto dst = codes.as<std::uint8_t>();
  for (std::size_t i = 0; i < dst.size(); ++i) {
    const std::size_t bit = i % row * static_cast<std::size_t>(bits);
    const std::uint8_t byte = src[i / row * row_bytes + bit / 8];
    dst[i] = static_cast<std::uint8_t>(byte >> bit % 8 & ((1 << bits) - 1));
  }
  return codes;
}

TensorProto encode_codes(const ir::Tensor& codes, std::int32_t data_type) {
  const auto bits = static_cast<std::size_t>(narrow_bits(data_type));
  const std::size_t per_byte = 8 / bits;
  const auto numbers = codes.as<std::uint8_t>();
  std::string packed((numbers.size() + per_byte - 1) / per_byte, '\0');
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const int code = numbers[i] & ((1 << bits) - 1);
    char& byte = packed[i / per_byte];
    byte = static_cast<char>(byte | code << (i % per_byte * bits));
  }
  TensorProto proto;
  proto.set_data_type(data_type);
  for (const ir::Dim dim : codes.shape().dims()) proto.add_dims(dim);
  proto.set_raw_data(std::move(packed));
  return proto;
}

TensorProto encode_tensor(const ir::Tensor& tensor) {
  TensorProto proto;
  proto.set_data_type(data_type_of(tensor.element()));
  for (const ir::Dim dim : tensor.shape().dims()) proto.add_dims(dim);
  const auto bytes = tensor.bytes();
  proto.set_raw_data(bytes.data(), bytes.size());
  return proto;
}

TensorProto encode_compact(const ir::Tensor& tensor) {
  TensorProto proto = encode_tensor(tensor);
  if (tensor.element() != ir::ElementType::kFloat32) return proto;
  if (const auto halves = exact_halves(tensor.as<float>())) {
    proto.set_data_type(TensorProto::FLOAT16);
    proto.set_raw_data(halves->data(), halves->size() * sizeof(std::uint16_t));
  }
  return proto;
}

ir::Dim product_of(std::span<const ir::Dim> dims) {
  const ir::Shape shape(std::vector<ir::Dim>(dims.begin(), dims.end()));
  if (ir::has_expressions(shape)) {
    ir::Extent product(1);
    for (const ir::Dim dim : dims) product = product * ir::extent_of(dim);
    return ir::dim_of(product);
  }
  const auto batches = std::ranges::count_if(dims, ir::is_batch);
  if (batches > 1) {
    fail(ErrorKind::kUnsupported, "merges two batch axes: " + shape.to_string());
  }
  const auto product = static_cast<ir::Dim>(shape.with_batch(1).element_count());
  return batches == 0 ? product : -product;
}

}  // namespace halftone::formats::onnx
