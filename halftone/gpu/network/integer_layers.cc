// SPDX-License-Identifier: Apache-2.0
// Layers of int8 and uint8 with zero points: exact sums of int32, and the codes of these.
#include <optional>

#include "halftone/gpu/network/layer_parts.h"
#include "halftone/gpu/network/requantizing.h"
#include "halftone/gpu/texts.h"
#include "halftone/kernels/encoded.h"

namespace halftone::gpu {
namespace {

constexpr std::uint32_t kFlip = 0x80808080;  ///< uint8 to int8

/// A layer whose weights and inputs are int8: uint8 less 128, as their zero points.
struct IntegerLayer {
  kernels::ConvShape shape;
  std::vector<std::int32_t> zeros;  ///< [outputs], of the weights
  std::int32_t x_zero = 0;
  bool flips = false;  ///< whether the inputs are uint8
  kernels::IntegerWeights weights{};

  [[nodiscard]] int code(std::size_t i) const {
    return weights.code(i) - (weights.is_signed ? 0 : 128);
  }
};

const ir::ZeroPoints& zero_points_of(const runtime::NodeContext& context) {
  if (const auto* conv = std::get_if<ir::Conv>(&context.node.op)) return conv->zero_points;
  return context.op<ir::FullyConnected>().zero_points;
}

IntegerLayer integer_layer_of(const runtime::NodeContext& context) {
  IntegerLayer layer{layer_shape(context), {}};
  const auto& weights = std::get<ir::Tensor>(*context.constant(1));
  layer.weights.codes = weights.bytes();
  layer.weights.is_signed = weights.element() == ir::ElementType::kInt8;
  if (context.has_input(2)) {
    layer.weights.bias = std::get<ir::Tensor>(*context.constant(2)).as<std::int32_t>();
  }
  const ir::ZeroPoints& zero_points = zero_points_of(context);
  layer.flips = !context.input(0).is_dense(ir::ElementType::kInt8);
  layer.x_zero = zero_points.x - (layer.flips ? 128 : 0);
  for (std::size_t o = 0; o < layer.shape.outputs; ++o) {
    layer.zeros.push_back(zero_points.of_output(o) - (layer.weights.is_signed ? 0 : 128));
  }
  return layer;
}

/// [patterns, outputs] bias - x_zero sum_(k inside) (w_k - zero_w), modulo 2^32.
std::vector<std::uint32_t> integer_base(const IntegerLayer& layer) {
  const kernels::ConvShape& shape = layer.shape;
  const kernels::PaddingPatterns patterns(shape);
  const std::size_t channels = shape.group_channels();
  std::vector<std::uint32_t> base(patterns.count() * shape.outputs);
  for (std::size_t p = 0; p < patterns.count(); ++p) {
    const std::vector<bool> outside = patterns.outside(p);
    for (std::size_t o = 0; o < shape.outputs; ++o) {
      std::int64_t sum = 0;
      for (std::size_t i = 0; i < shape.inputs(); ++i) {
        if (!outside[i / channels]) sum += layer.code(o * shape.inputs() + i) - layer.zeros[o];
      }
      base[p * shape.outputs + o] =
          static_cast<std::uint32_t>(layer.weights.bias_of(o) - layer.x_zero * sum);
    }
  }
  return base;
}

}  // namespace

runtime::DeviceChoice make_integer_layer(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const IntegerLayer layer = integer_layer_of(context);
  const std::size_t unit = unit_inputs(layer.shape, layer.shape.inputs());
  const std::size_t count = layer.shape.num_pixels() * layer.shape.outputs;
  Kernel& kernel = maker.programs().kernel(
      program_text(unit == 4 ? "#define WORDS\n" : "", {"window", "window_bytes"}),
      "multiply_integers");
  const Buffer& weights =
      maker.constant(arranged<std::int8_t>(layer.shape, unit, [&](std::size_t o, std::size_t i) {
        return layer.code(o * layer.shape.inputs() + i);
      }));
  const Buffer& shape = maker.constant(shape_numbers(layer.shape));
  const Buffer& patterns = maker.constant(pixel_patterns(layer.shape));
  const Buffer& base = maker.constant(integer_base(layer));
  const Buffer& zeros = maker.constant(layer.zeros);
  std::optional<Requantizing> codes;
  std::size_t sums = 0;
  if (context.fused != nullptr) {
    codes.emplace(maker, *context.fused->requantize);
    sums = maker.scratch(count * sizeof(std::int32_t));
  }
  return maker.made([k = &kernel, w = &weights, s = &shape, p = &patterns, b = &base, z = &zeros,
                     codes, sums, count, flip = layer.flips ? kFlip : 0](const StepMemory& memory) {
    const Buffer& y = codes ? *memory.scratch[sums] : *memory.output;
    std::vector<Launch> launches = {
        {k, grid_of(count), {*memory.inputs[0], *w, *s, *p, *b, *z, y, number(count), flip}}};
    if (codes) launches.push_back(codes->launch(y, *memory.output));
    return launches;
  });
}

}  // namespace halftone::gpu
