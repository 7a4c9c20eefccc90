// SPDX-License-Identifier: Apache-2.0
// A network with a state, for tests that know installed headers alone.
#pragma once

#include <cstddef>
#include <string>

namespace halftone {

/// The bytes of an ONNX file: y = x + sum, all of [1, 2], and y is the sum of the next run.
class RunningSumModel {
 public:
  /// @param has_output  else the sum is all that it computes
  static std::string bytes(bool has_output = true) {
    const std::string node = field(1, "x") + field(1, "sum") + field(2, "y") + field(4, "Add");
    const std::string keep = field(1, "y") + field(2, "next") + field(4, "Identity");
    const std::string graph = field(1, node) + field(1, keep) + field(2, "g") +
                              field(11, value("x")) + field(11, value("sum")) +
                              (has_output ? field(12, value("y")) : "") + field(12, value("next"));
    const std::string state = field(1, "ai.halftone.state:sum") + field(2, "next");
    return number(1, 8) + field(7, graph) + field(8, number(2, 13)) + field(14, state);
  }

 private:
  static std::string varint(std::size_t value) {
    std::string text;
    for (; value > 127; value /= 128) text += static_cast<char>(value % 128 + 128);
    return text + static_cast<char>(value);
  }
  static std::string field(unsigned key, const std::string& content) {
    return varint(key * 8 + 2) + varint(content.size()) + content;
  }
  static std::string number(unsigned key, std::size_t value) {
    return varint(key * 8) + varint(value);
  }
  static std::string value(const std::string& name) {
    const std::string shape = field(1, number(1, 1)) + field(1, number(1, 2));
    return field(1, name) + field(2, field(1, number(1, 1) + field(2, shape)));
  }
};

}  // namespace halftone
