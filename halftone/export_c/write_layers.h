// SPDX-License-Identifier: Apache-2.0
// Functions of the C program by family of operators. Each returns false if the node is none of its
// family, and throws as Scope::refuse() if C has no kernel for it.
#pragma once

#include <optional>
#include <string>

#include "halftone/export_c/scope.h"

namespace halftone::export_c {

bool write_integer_layer(Scope& scope);  ///< FullyConnected and Conv of int8
bool write_pool(Scope& scope);           ///< Pool of int8
bool write_pair(Scope& scope);           ///< Binary of two codes, with its conversions
bool write_function(Scope& scope);       ///< Lookup, conversions, Softmax
bool write_move(Scope& scope);           ///< Reshape, Concat, Pad, Transpose, Slice

/// The function of a node: the first of these that writes it.
/// @throws Error kUnsupported as Scope::refuse()
Layer write_layer(const NodeToWrite& what, const std::string& prefix, std::size_t index);

/// The line "static const ht_codes codes = {...};" for a Requantize, with its arrays.
void add_codes(Scope& scope, const ir::Requantize& op);

/// An image of one or two spatial axes and a window on it, as lines of C.
struct WindowExtents {
  ir::Dim height, width, channels;
  ir::Dim out_height, out_width, outputs;
  ir::Dim kernel_height, kernel_width;
  ir::Dim stride_y, stride_x, dilation_y, dilation_x, pad_top, pad_left;
};
/// @throws Error kUnsupported as Scope::refuse() unless there are one or two spatial axes
WindowExtents window_extents(const Scope& scope, const ir::Window& window,
                             std::span<const ir::Dim> kernel);
/// Adds the line "static const ht_window window = {...};".
void add_window(Scope& scope, const WindowExtents& extents);

/// "1, 32, 32"
template <typename... Numbers>
std::string arguments(const Numbers&... numbers) {
  std::string text;
  const auto add = [&](const auto& number) {
    if (!text.empty()) text += ", ";
    if constexpr (requires { std::to_string(number); }) {
      text += std::to_string(number);
    } else {
      text += number;
    }
  };
  (add(numbers), ...);
  return text;
}

}  // namespace halftone::export_c
