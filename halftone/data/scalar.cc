// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/scalar.h"

#include <array>
#include <cstring>
#include <limits>
#include <string>
#include <type_traits>

#include "halftone/base/error.h"
#include "halftone/base/half.h"

namespace halftone::data {
namespace {

struct Facts {
  std::string_view name;
  std::size_t bytes;
};

constexpr std::array<Facts, 12> kFacts = {{{"float16", 2},
                                           {"float32", 4},
                                           {"float64", 8},
                                           {"int8", 1},
                                           {"int16", 2},
                                           {"int32", 4},
                                           {"int64", 8},
                                           {"uint8", 1},
                                           {"uint16", 2},
                                           {"uint32", 4},
                                           {"uint64", 8},
                                           {"bool", 1}}};

/// Represents binary16, for which C++20 has no type.
struct Half {
  std::uint16_t bits;
};
/// Represents a boolean as stored: any byte, true unless zero. A C++ bool must be 0 or 1.
struct Truth {
  std::uint8_t byte;
};

float as_float(Half x) { return float_from_half(x.bits); }
float as_float(Truth x) { return x.byte != 0 ? 1.0F : 0.0F; }
template <typename T>
float as_float(T x) {
  return static_cast<float>(x);
}

std::int64_t as_integer(Truth x) { return x.byte != 0 ? 1 : 0; }
template <typename T>
std::int64_t as_integer(T x) {
  if constexpr (std::is_same_v<T, std::uint64_t>) {
    if (x > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
      fail(ErrorKind::kFormat,
           "expected an integer of at most 2^63 - 1, found " + std::to_string(x));
    }
  }
  return static_cast<std::int64_t>(x);
}

/// dst[i] = convert(the i-th T of src).
template <typename T, typename Dst, typename Convert>
void convert_each(std::span<const std::byte> src, std::span<Dst> dst, Convert convert) {
  for (std::size_t i = 0; i < dst.size(); ++i) {
    T x;
    std::memcpy(&x, src.data() + i * sizeof(T), sizeof(T));
    dst[i] = convert(x);
  }
}

/// Calls visit with a zero of the C++ type that represents an integer type.
template <typename Visit>
void visit_integer(Scalar type, Visit visit) {
  switch (type) {
    case Scalar::kInt8:
      return visit(std::int8_t{});
    case Scalar::kInt16:
      return visit(std::int16_t{});
    case Scalar::kInt32:
      return visit(std::int32_t{});
    case Scalar::kInt64:
      return visit(std::int64_t{});
    case Scalar::kUInt8:
      return visit(std::uint8_t{});
    case Scalar::kUInt16:
      return visit(std::uint16_t{});
    case Scalar::kUInt32:
      return visit(std::uint32_t{});
    case Scalar::kUInt64:
      return visit(std::uint64_t{});
    case Scalar::kBool:
      return visit(Truth{});
    case Scalar::kFloat16:
    case Scalar::kFloat32:
    case Scalar::kFloat64:
      break;
  }
  fail(ErrorKind::kFormat, "expected integers, found " + std::string(to_string(type)));
}

template <typename Visit>
void visit_scalar(Scalar type, Visit visit) {
  switch (type) {
    case Scalar::kFloat16:
      return visit(Half{});
    case Scalar::kFloat32:
      return visit(float{});
    case Scalar::kFloat64:
      return visit(double{});
    case Scalar::kInt8:
    case Scalar::kInt16:
    case Scalar::kInt32:
    case Scalar::kInt64:
    case Scalar::kUInt8:
    case Scalar::kUInt16:
    case Scalar::kUInt32:
    case Scalar::kUInt64:
    case Scalar::kBool:
      return visit_integer(type, visit);
  }
}

void check_length(Scalar type, std::size_t src_bytes, std::size_t dst_elements) {
  if (src_bytes % size_bytes(type) != 0 || src_bytes / size_bytes(type) != dst_elements) {
    fail(ErrorKind::kShape, "expected " + std::to_string(dst_elements) + " numbers of type " +
                                std::string(to_string(type)) + ", found " +
                                std::to_string(src_bytes) + " bytes");
  }
}

}  // namespace

std::string_view to_string(Scalar type) { return kFacts.at(static_cast<std::size_t>(type)).name; }

std::size_t size_bytes(Scalar type) { return kFacts.at(static_cast<std::size_t>(type)).bytes; }

bool is_integer(Scalar type) { return type > Scalar::kFloat64; }

void to_floats(Scalar type, std::span<const std::byte> src, std::span<float> dst) {
  check_length(type, src.size(), dst.size());
  visit_scalar(type, [&](auto zero) {
    convert_each<decltype(zero)>(src, dst, [](auto x) { return as_float(x); });
  });
}

void to_integers(Scalar type, std::span<const std::byte> src, std::span<std::int64_t> dst) {
  check_length(type, src.size(), dst.size());
  visit_integer(type, [&](auto zero) {
    convert_each<decltype(zero)>(src, dst, [](auto x) { return as_integer(x); });
  });
}

}  // namespace halftone::data
