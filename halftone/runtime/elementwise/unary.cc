// SPDX-License-Identifier: Apache-2.0
// Functions of one number with our own vectors, or element by element.
#include "halftone/runtime/elementwise/activation.h"
#include "halftone/runtime/elementwise/elementwise.h"

namespace halftone::runtime {
namespace {

Verdict judge_unary_vector(const NodeContext& context) {
  const ir::Activation& activation = context.op<ir::Unary>().activation;
  if (!maps_floats(context)) return refuse("the input is not float32");
  if (!has_vector_function(activation)) {
    return refuse("no vector function for " + ir::to_string(activation));
  }
  return accept("vector function");
}

Kernel create_unary_vector(const NodeContext& context) {
  const ir::Activation activation = context.op<ir::Unary>().activation;
  const std::size_t count = context.output().shape.element_count();
  const std::size_t shares =
      count < kParallelNumbers ? 1 : static_cast<std::size_t>(context.threads);
  Kernel kernel;
  kernel.bind = [activation, count, shares](const Buffers& buffers) -> Call {
    const std::span x(reinterpret_cast<const float*>(buffers.inputs[0]), count);
    const std::span y(reinterpret_cast<float*>(buffers.output), count);
    return [activation, x, y, shares] { apply_activation(activation, x, y, shares); };
  };
  return kernel;
}

Verdict judge_unary_plain(const NodeContext& context) {
  if (!maps_floats(context)) return refuse("the input is not float32");
  return accept("element by element");
}

}  // namespace

constinit const Implementation kUnaryVector{
    .name = "vector_f32", .judge = judge_unary_vector, .create = create_unary_vector};
constinit const Implementation kUnaryPlain{
    .name = "plain_f32", .judge = judge_unary_plain, .create = create_unary_vector};

}  // namespace halftone::runtime
