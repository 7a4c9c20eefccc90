// SPDX-License-Identifier: Apache-2.0
// Small ONNX files for tests of what programs see, without the library.
#pragma once

#include <cstddef>
#include <string>

namespace halftone::test {

/// A field of a protobuf message: bytes, or another message.
inline std::string field(int number, const std::string& bytes) {
  std::string text(1, static_cast<char>(number << 3 | 2));
  std::size_t size = bytes.size();
  for (; size >= 128; size /= 128) text += static_cast<char>(size % 128 | 128);
  return text + static_cast<char>(size) + bytes;
}

/// A number of at most 127.
inline std::string number_field(int number, int value) {
  return {static_cast<char>(number << 3), static_cast<char>(value)};
}

/// @param element  of ONNX: 1 for float32, 7 for int64, 9 for booleans
/// @param extents  number_field(1, n) or field(2, name), each in a field(1)
inline std::string value_info(const std::string& name, int element, const std::string& extents) {
  const std::string tensor = number_field(1, element) + field(2, extents);
  return field(1, name) + field(2, field(1, tensor));
}

inline std::string model_file(const std::string& graph) {
  return number_field(1, 8) + field(7, graph) + field(8, number_field(2, 17));
}

}  // namespace halftone::test
