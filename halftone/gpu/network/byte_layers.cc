// SPDX-License-Identifier: Apache-2.0
// Layers of ir::Arithmetic::kIntegers: levels of weights on their grid, times inputs of 8 bits.
#include <algorithm>

#include "halftone/gpu/network/layer_parts.h"
#include "halftone/gpu/texts.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::gpu {
namespace {

using kernels::ConvShape;
using kernels::LevelGrid;

// As in text/window_bytes.cl.
constexpr std::uint32_t kStartsAtBase = 4;
constexpr std::uint32_t kHasCenters = 8;
constexpr std::uint32_t kScaleOfRow = 16;
constexpr std::uint32_t kHasOnes = 32;
constexpr std::uint32_t kEndsWithBase = 64;
constexpr std::uint32_t kIsSigned = 128;

/// What multiply_levels() reads.
struct Levels {
  ConvShape shape;
  std::size_t unit = 1;     ///< inputs of a unit
  std::size_t section = 1;  ///< inputs that share a basis
  std::uint32_t steps = 0;
  std::uint32_t flags = 0;
  std::string macros{};
  std::vector<float> base{};     ///< [patterns, outputs]
  std::vector<float> factors{};  ///< [sections, 2, outputs]
  std::vector<float> ones{};     ///< [outputs], or empty
  float scale = 1;               ///< of the inputs
};

/// The layer of a node.
struct Layer {
  const ir::EncodedTensor& weights;
  std::span<const float> bias;
  ConvShape shape;
  kernels::Int8Pixels x;  ///< scale and offset of the inputs

  [[nodiscard]] kernels::EncodedWeights encoded() const {
    return {weights.codes, *weights.encoding, bias};
  }
  /// Inputs that share a basis.
  [[nodiscard]] std::size_t section() const {
    const numerics::MatrixEncoding& encoding = *weights.encoding;
    const bool is_grouped = encoding.granularity == numerics::Granularity::kGroup;
    return is_grouped ? std::min(encoding.group_size, shape.inputs()) : shape.inputs();
  }
  [[nodiscard]] std::size_t sections() const {
    return weights.encoding->groups_per_row(weights.codes.cols);
  }
  [[nodiscard]] LevelGrid grid(std::size_t output, std::size_t section) const {
    return kernels::weight_grid(weights.encoding->levels(output, section, weights.codes.cols));
  }
};

/// [patterns, outputs] of rows of base values in blocks of outputs of a group.
template <typename RowOf>
std::vector<float> base_rows(const ConvShape& shape, std::size_t blocks, const RowOf& row_of) {
  constexpr std::size_t kBlock = kernels::ByteConvLevels::kBlock;
  std::vector<float> base;
  for (std::size_t p = 0; p < kernels::PaddingPatterns(shape).count(); ++p) {
    for (std::size_t o = 0; o < shape.outputs; ++o) {
      const std::size_t group = o / shape.group_outputs();
      base.push_back(row_of(p)[group * blocks * kBlock + o % shape.group_outputs()]);
    }
  }
  return base;
}

/// Factors of all sections. @param scale  of the inputs, or 1
void set_factors(Levels& levels, const Layer& layer, float scale) {
  const std::size_t outputs = layer.shape.outputs;
  levels.factors.resize(2 * layer.sections() * outputs);
  for (std::size_t s = 0; s < layer.sections(); ++s) {
    for (std::size_t o = 0; o < outputs; ++o) {
      const LevelGrid grid = layer.grid(o, s);
      levels.factors[2 * s * outputs + o] = scale == 1 ? grid.half_step : grid.half_step * scale;
      levels.factors[(2 * s + 1) * outputs + o] = scale == 1 ? grid.center : grid.center * scale;
    }
  }
}

/// kernels::byte_conv().
void set_windows(Levels& levels, const Layer& layer) {
  const kernels::ByteConvWeights packed(layer.shape, layer.encoded(), layer.x,
                                        kernels::preferred_byte_layout(*layer.weights.encoding));
  levels.flags |= kStartsAtBase | (packed.has_centers() ? kHasCenters : 0);
  levels.base = base_rows(layer.shape, packed.blocks(),
                          [&](std::size_t pattern) { return packed.base(pattern); });
  set_factors(levels, layer, layer.x.scale);
}

/// The sums of each output for inputs of 1: kernels::level_matmul().
std::vector<float> sums_of_ones(const Layer& layer, float offset) {
  const std::size_t inputs = layer.shape.inputs();
  const std::vector<std::int8_t> ones(inputs, 1);
  const float one[] = {1};
  std::vector<float> sums(layer.shape.outputs);
  kernels::level_matmul_reference({MatrixView<const std::int8_t>(ones, 1, inputs), one},
                                  layer.weights.codes, *layer.weights.encoding, {},
                                  MatrixView<float>(sums, 1, sums.size()));
  for (float& sum : sums) sum = offset * sum;
  return sums;
}

/// kernels::level_matmul(), without what follows the sums.
void set_product(Levels& levels, const Layer& layer) {
  if (!layer.weights.encoding->is_centred()) levels.flags |= kHasCenters;
  set_factors(levels, layer, 1);
  levels.scale = layer.x.scale;
  if (layer.x.offset == 0) return;
  levels.flags |= kHasOnes;
  levels.ones = sums_of_ones(layer, layer.x.offset);
}

/// The same with the bias.
void set_matrix(Levels& levels, const Layer& layer) {
  set_product(levels, layer);
  if (layer.bias.empty()) return;
  levels.flags |= kEndsWithBase;
  levels.base.assign(layer.bias.begin(), layer.bias.end());
}

/// kernels::int8_conv().
void set_gathered(Levels& levels, const Layer& layer) {
  set_product(levels, layer);
  levels.flags |= kEndsWithBase;
  const kernels::Int8ConvWeights packed(layer.shape, layer.encoded(),
                                        kernels::preferred_byte_levels(), layer.x.offset);
  for (std::size_t p = 0; p < packed.patterns().count(); ++p) {
    levels.base.insert(levels.base.end(), packed.base(p), packed.base(p) + layer.shape.outputs);
  }
}

/// kernels::depthwise_conv(). @return  [channels][taps]
std::vector<kernels::DepthwiseChannel> set_depthwise(Levels& levels, const Layer& layer) {
  const ConvShape& shape = layer.shape;
  levels.flags |= kStartsAtBase | kIsSigned;
  levels.macros = "#define WIDE\n";
  levels.section = shape.inputs();
  levels.factors.resize(2 * shape.outputs);
  const kernels::PaddingPatterns patterns(shape);
  levels.base.resize(patterns.count() * shape.outputs);
  std::vector<double> bases(patterns.count());
  std::vector<double> sums(shape.taps());
  std::vector<kernels::DepthwiseChannel> channels;
  for (std::size_t c = 0; c < shape.channels; ++c) {
    const auto& channel = channels.emplace_back(layer.weights.codes, *layer.weights.encoding, c);
    for (std::size_t tap = 0; tap < sums.size(); ++tap) {
      sums[tap] = static_cast<double>(channel.scale) * channel.i[tap];
    }
    const double bias = layer.bias.empty() ? 0 : layer.bias[c];
    kernels::padded_bases(patterns, sums, {bias, layer.x.offset, layer.x.offset}, bases);
    for (std::size_t p = 0; p < bases.size(); ++p) {
      levels.base[p * shape.outputs + c] = static_cast<float>(bases[p]);
    }
    levels.factors[c] = channel.scale * layer.x.scale;
  }
  return channels;
}

/// The constants of a kernel.
struct Uploaded {
  std::size_t count;  ///< of outputs
  std::uint32_t section;
  std::uint32_t steps;
  std::uint32_t flags;
  Kernel& kernel;
  const Buffer& weights;
  const Buffer& shape;
  const Buffer& patterns;
  const Buffer& base;
  const Buffer& factors;
  const Buffer& scales;
  const Buffer& ones;
};

/// Levels less 128, which are int8.
const Buffer& upload_levels(StepMaker& maker, Levels& levels, const Layer& layer) {
  levels.unit = unit_inputs(layer.shape, levels.section);
  const std::size_t sections = layer.sections();
  std::vector<LevelGrid> grids;
  for (std::size_t o = 0; o < layer.shape.outputs; ++o) {
    for (std::size_t s = 0; s < sections; ++s) grids.push_back(layer.grid(o, s));
  }
  return maker.constant(
      arranged<std::int8_t>(layer.shape, levels.unit, [&](std::size_t o, std::size_t i) {
        const LevelGrid& grid = grids[o * sections + i / levels.section];
        return grid.u[layer.weights.codes.code(o, i)] - 128;
      }));
}

Uploaded uploaded(StepMaker& maker, const Levels& levels, const Buffer& weights) {
  const std::string macros = levels.macros + (levels.unit == 4 ? "#define WORDS\n" : "");
  std::vector<float> base = levels.base;
  base.resize(std::max(base.size(), levels.shape.outputs));
  return {
      levels.shape.num_pixels() * levels.shape.outputs,
      number(levels.section / levels.unit),
      levels.steps,
      levels.flags,
      maker.programs().kernel(program_text(macros, {"window", "window_bytes"}), "multiply_levels"),
      weights,
      maker.constant(shape_numbers(levels.shape)),
      maker.constant(pixel_patterns(levels.shape)),
      maker.constant(std::move(base)),
      maker.constant(levels.factors),
      maker.constant(std::vector<float>{levels.scale}),
      maker.constant(levels.ones)};
}

/// @param scales  of rows of inputs; null: one
Launch launch_of(const Uploaded& on, const LayerEnd& end, const StepMemory& memory, const Buffer& x,
                 const Buffer* scales) {
  return {&on.kernel,
          grid_of(on.count),
          {x, on.weights, on.shape, on.patterns, on.base, on.factors,
           scales == nullptr ? on.scales : *scales, on.ones, end.residual(memory), end.sums(memory),
           number(on.count), on.section, on.steps, on.flags | end.flags(), end.low(), end.high()}};
}

/// A layer on codes of 8 bits.
runtime::DeviceChoice made_of_codes(StepMaker& maker, const Uploaded& on, const LayerEnd& end) {
  return maker.made([on, end](const StepMemory& memory) {
    std::vector<Launch> launches = {launch_of(on, end, memory, *memory.inputs[0], nullptr)};
    end.follow(memory, launches);
    return launches;
  });
}

/// A FullyConnected on floats, whose rows are rounded first: kernels::quantize_rows().
runtime::DeviceChoice made_of_floats(StepMaker& maker, const Uploaded& on, const LayerEnd& end) {
  const auto [rows, cols] = runtime::row_extent(maker.context().input(0).shape);
  const std::size_t bytes = maker.scratch(rows * cols);
  const std::size_t scales = maker.scratch(rows * sizeof(float));
  Kernel* const quantize =
      &maker.programs().kernel(program_text("", {"window", "codes"}), "quantize_rows");
  const Grid grid{rows, 1, kThreads};
  return maker.made(
      [on, end, quantize, grid, cols = number(cols), bytes, scales](const StepMemory& memory) {
        const Buffer& q = *memory.scratch[bytes];
        const Buffer& of_rows = *memory.scratch[scales];
        std::vector<Launch> launches = {{quantize, grid, {*memory.inputs[0], q, of_rows, cols}},
                                        launch_of(on, end, memory, q, &of_rows)};
        end.follow(memory, launches);
        return launches;
      });
}

Layer layer_of(const runtime::NodeContext& context) {
  Layer layer{std::get<ir::EncodedTensor>(*context.constant(1)),
              runtime::constant_floats(context, 2),
              layer_shape(context),
              {}};
  if (const ir::Encoding& x = context.input(0).encoding; !x.is_dense()) {
    const kernels::Int8Levels levels(x.codes->levels(0));
    layer.x = {nullptr, levels.scale, levels.offset};
  }
  return layer;
}

}  // namespace

runtime::DeviceChoice make_byte_layer(StepMaker& maker) {
  const runtime::NodeContext& context = maker.context();
  const auto* conv = std::get_if<ir::Conv>(&context.node.op);
  if (conv == nullptr && !std::holds_alternative<ir::FullyConnected>(context.node.op)) {
    return refused("no kernel of integers computes " + maker.step().op);
  }
  if (std::string why = LayerEnd::refusal(context, conv != nullptr); !why.empty()) {
    return refused(std::move(why));
  }
  const Layer layer = layer_of(context);
  Levels levels{.shape = layer.shape, .section = layer.section()};
  levels.steps = static_cast<std::uint32_t>(layer.weights.encoding->weight_steps());
  const LayerEnd end(maker, conv != nullptr);
  if (conv != nullptr && ir::is_depthwise(*conv, layer.weights.shape)) {
    const auto channels = set_depthwise(levels, layer);
    const Buffer& weights = maker.constant(arranged<std::int16_t>(
        layer.shape, 1, [&](std::size_t o, std::size_t i) { return channels[o].i[i]; }));
    return made_of_codes(maker, uploaded(maker, levels, weights), end);
  }
  const Buffer& weights = upload_levels(maker, levels, layer);
  if (conv == nullptr) {
    set_matrix(levels, layer);
  } else if (ir::gathers_inputs(layer.weights.shape, levels.section)) {
    set_gathered(levels, layer);
  } else {
    set_windows(levels, layer);
  }
  if (!context.input(0).encoding.is_dense()) {
    return made_of_codes(maker, uploaded(maker, levels, weights), end);
  }
  levels.flags |= kScaleOfRow;
  return made_of_floats(maker, uploaded(maker, levels, weights), end);
}

}  // namespace halftone::gpu
