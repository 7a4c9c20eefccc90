// SPDX-License-Identifier: Apache-2.0
// Small ONNX files for tests of what programs see, without the library.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

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

/// A node. @param attributes  fields of number 5
inline std::string node_bytes(const std::string& op, const std::vector<std::string>& inputs,
                              const std::vector<std::string>& outputs,
                              const std::string& attributes = "") {
  std::string node;
  for (const std::string& input : inputs) node += field(1, input);
  for (const std::string& output : outputs) node += field(2, output);
  return field(1, node + field(4, op) + attributes);
}

/// y is what x becomes in a loop without an end: x = -x as long as it equals itself.
inline std::string endless_loop_file() {
  const std::string one = field(1, number_field(1, 1));
  const std::string body =
      node_bytes("Neg", {"v"}, {"w"}) + node_bytes("Equal", {"w", "w"}, {"goes_on"}) +
      field(2, "body") + field(11, value_info("i", 7, "")) + field(11, value_info("c", 9, "")) +
      field(11, value_info("v", 1, one)) + field(12, value_info("goes_on", 9, one)) +
      field(12, value_info("w", 1, one));
  const std::string graph_type = {'\xA0', 1, 5};  // field 20
  const std::string attribute = field(5, field(1, "body") + field(6, body) + graph_type);
  return model_file(node_bytes("Loop", {"", "", "x"}, {"y"}, attribute) + field(2, "g") +
                    field(11, value_info("x", 1, one)) + field(12, value_info("y", 1, one)));
}

}  // namespace halftone::test
