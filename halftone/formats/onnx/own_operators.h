// SPDX-License-Identifier: Apache-2.0
// The operators of the domain "ai.halftone" as files have them, for runtimes that call them.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::formats::onnx {

/// An operator. Layers have x as their first input, and one output, float32; their definitions are
/// those of low_bit_layer.h, conv_layer.h and recurrent_layer.h. A network has any inputs and
/// outputs; see one_operator.h.
struct OwnOperator {
  std::string_view name;   ///< "Conv"
  std::size_t inputs = 1;  ///< of a layer, at most; those behind the first may be absent
  std::vector<std::string> attributes;
  bool is_network = false;
};

/// All of them, in the order of their names.
std::vector<OwnOperator> own_operators();

}  // namespace halftone::formats::onnx
