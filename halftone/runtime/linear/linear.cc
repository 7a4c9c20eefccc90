// SPDX-License-Identifier: Apache-2.0
// Helpers that the implementations of float32 layers share.
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

std::optional<Verdict> refuse_float_layer(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.input(0).shape.element_count() == 0 || context.output().shape.element_count() == 0 ||
      context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return std::nullopt;
}

}  // namespace halftone::runtime
