// SPDX-License-Identifier: Apache-2.0
// Helpers that the implementations of FullyConnected share.
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

}  // namespace halftone::runtime
