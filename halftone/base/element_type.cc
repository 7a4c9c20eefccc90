// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/element_type.h"

#include <string>

#include "halftone/base/error.h"

namespace halftone {

std::string_view to_string(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
      return "float32";
    case ElementType::kInt8:
      return "int8";
    case ElementType::kUint8:
      return "uint8";
    case ElementType::kInt32:
      return "int32";
    case ElementType::kInt64:
      return "int64";
    case ElementType::kBool:
      return "bool";
    case ElementType::kInt16:
      return "int16";
    case ElementType::kUint16:
      return "uint16";
    case ElementType::kUint32:
      return "uint32";
    case ElementType::kUint64:
      return "uint64";
    case ElementType::kFloat64:
      return "float64";
    case ElementType::kFloat16:
      return "float16";
    case ElementType::kBfloat16:
      return "bfloat16";
  }
  return "unknown";
}

std::size_t size_bytes(ElementType type) {
  switch (type) {
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kBool:
      return 1;
    case ElementType::kInt16:
    case ElementType::kUint16:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat32:
    case ElementType::kInt32:
    case ElementType::kUint32:
      return 4;
    case ElementType::kInt64:
    case ElementType::kUint64:
    case ElementType::kFloat64:
      return 8;
  }
  fail(ErrorKind::kInternal, "unknown element type");
}

bool is_integer(ElementType type) {
  switch (type) {
    case ElementType::kFloat32:
    case ElementType::kFloat64:
    case ElementType::kFloat16:
    case ElementType::kBfloat16:
    case ElementType::kBool:
      return false;
    case ElementType::kInt8:
    case ElementType::kUint8:
    case ElementType::kInt16:
    case ElementType::kUint16:
    case ElementType::kInt32:
    case ElementType::kUint32:
    case ElementType::kInt64:
    case ElementType::kUint64:
      return true;
  }
  return false;
}

bool is_half(ElementType type) {
  return type == ElementType::kFloat16 || type == ElementType::kBfloat16;
}

void fail_element(ElementType type) {
  static_cast<void>(size_bytes(type));  // a type that is none has an error of its own
  fail(ErrorKind::kUnsupported,
       "elements of " + std::string(to_string(type)) + " are not supported here");
}

}  // namespace halftone
