// SPDX-License-Identifier: Apache-2.0
// Layers and pools of float32 in the order of our own kernels.
#include "halftone/gpu/network/functions.h"
#include "halftone/gpu/network/layer_parts.h"
#include "halftone/gpu/texts.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::gpu {
namespace {

/// The geometry of a Pool. @pre one to three spatial axes
kernels::ConvShape pool_shape(const runtime::NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  const ir::Shape& x = context.input(0).shape;
  const auto channels = static_cast<std::size_t>(x.back());
  return {static_cast<std::size_t>(x[0]),
          runtime::conv_axes(op.window, op.kernel, x, context.output().shape), channels, channels,
          channels};
}

constexpr std::size_t kMaxRank = 5;  ///< of images with three axes

/// @param is_signed  of codes
runtime::DeviceChoice made_code_pool(StepMaker& maker, bool is_signed) {
  const auto& op = maker.context().op<ir::Pool>();
  const std::string macros = is_signed ? "#define CODE schar\n" : "#define CODE uchar\n";
  Kernel& kernel = maker.programs().kernel(program_text(macros, {"window", "codes"}), "pool_codes");
  const Buffer& shape = maker.constant(shape_numbers(pool_shape(maker.context())));
  const std::int32_t lowest = is_signed ? -128 : 0;
  const Launch launch{&kernel, grid_of(maker.count()), {}};
  return maker.made([launch, s = &shape, count = maker.count(),
                     is_max = op.kind == ir::PoolKind::kMax, lowest](const StepMemory& memory) {
    Launch to = launch;
    to.arguments = {*memory.inputs[0], *s,
                    *memory.output,    count,
                    is_max ? 1U : 0U,  static_cast<std::uint32_t>(lowest)};
    return std::vector<Launch>{to};
  });
}

}  // namespace

runtime::DeviceChoice make_float_layer(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const bool is_conv = std::holds_alternative<ir::Conv>(context.node.op);
  if (!is_conv && !std::holds_alternative<ir::FullyConnected>(context.node.op)) {
    return refused("no kernel of floats computes " + maker.step().op);
  }
  if (!context.input(0).is_dense(ir::ElementType::kFloat32)) {
    return refused("its input is decoded first");
  }
  if (std::string why = LayerEnd::refusal(context, false); !why.empty()) {
    return refused(std::move(why));
  }
  const kernels::ConvShape layer = layer_shape(context);
  const LayerEnd end(maker, false);
  const ir::Tensor weights = ir::to_float(*context.constant(1));
  const auto w = weights.as<float>();
  const auto given = runtime::constant_floats(context, 2);
  std::vector<float> bias(given.begin(), given.end());
  bias.resize(layer.outputs, 0.0F);
  Kernel& kernel = maker.programs().kernel(program_text("", {"window", "window_floats"}),
                                           "multiply_floats_of_windows");
  const Buffer& on_device = maker.constant(arranged<float>(
      layer, 1, [&](std::size_t o, std::size_t i) { return w[o * layer.inputs() + i]; }));
  const Buffer& shape = maker.constant(shape_numbers(layer));
  const Buffer& biases = maker.constant(std::move(bias));
  const std::size_t count = layer.num_pixels() * layer.outputs;
  return maker.made(
      [end, count, k = &kernel, f = &on_device, s = &shape, b = &biases](const StepMemory& memory) {
        std::vector<Launch> launches = {{k,
                                         grid_of(count),
                                         {*memory.inputs[0], *f, *s, *b, end.sums(memory),
                                          number(count), end.flags(), end.low(), end.high()}}};
        end.follow(memory, launches);
        return launches;
      });
}

runtime::DeviceChoice make_pool(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const ir::ValueType& x = context.input(0);
  if (x.shape.rank() > kMaxRank) return refused("more than three spatial axes");
  if (maker.step().kernel == "codes") {
    return made_code_pool(maker, x.is_dense(ir::ElementType::kInt8));
  }
  if (maker.step().kernel != "fixed_order_f32") {
    return refused("its kernel on the processor is " + maker.step().kernel);
  }
  const auto& op = context.op<ir::Pool>();
  const kernels::ConvShape pool = pool_shape(context);
  Kernel& kernel =
      maker.programs().kernel(program_text("", {"window", "window_floats"}), "pool_floats");
  const Buffer& shape = maker.constant(shape_numbers(pool));
  const std::uint32_t is_max = op.kind == ir::PoolKind::kMax ? 1 : 0;
  const std::uint32_t counted = op.count_padding ? number(pool.taps()) : 0;
  return maker.made(
      [k = &kernel, s = &shape, is_max, counted, count = maker.count()](const StepMemory& memory) {
        return std::vector<Launch>{
            {k, grid_of(count), {*memory.inputs[0], *s, *memory.output, count, is_max, counted}}};
      });
}

}  // namespace halftone::gpu
