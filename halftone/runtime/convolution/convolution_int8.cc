// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using kernels::ByteConvWeights;
using kernels::DepthwiseWeights;
using kernels::Int8ConvWeights;

void convolve(const kernels::Int8Pixels& x, const ByteConvWeights& w, const ConvPart& part) {
  kernels::byte_conv(x.q, w, part);
}
void convolve(const kernels::Int8Pixels& x, const DepthwiseWeights& w, const ConvPart& part) {
  kernels::depthwise_conv(x.q, w, part);
}
void convolve(const kernels::Int8Pixels& x, const Int8ConvWeights& w, const ConvPart& part) {
  kernels::int8_conv(x, w, part);
}

double depthwise_us(const ConvExtent& conv) {
  const std::size_t blocks = (conv.channels + 15) / 16;
  const auto taps = static_cast<double>(conv.inputs);
  const auto packed = static_cast<double>(conv.line_pairs * blocks * 16);
  const auto line_blocks = static_cast<double>(conv.lines * blocks);
  return 1e-6 * (conv.output_numbers() * (50 + 20 * taps) + 140 * packed + 10000 * line_blocks);
}

// Measured as described in convolution.h.
double int8_conv_us(const ConvExtent& conv, Core core) {
  if (conv.depthwise) return depthwise_us(conv);
  if (!conv.gathers) {
    const double product_ps = core != Core::kAvx2 ? 4.5 : (conv.weight_bits <= 4 ? 10.5 : 12.5);
    const auto products = static_cast<double>(16 * conv.padded_inputs(4));
    const auto more_sections = static_cast<double>(conv.sections) - 1;
    return 1e-6 * conv.block_pixels(16) * (product_ps * products + 10600 + 2000 * more_sections);
  }
  const auto gathered = static_cast<double>(conv.num_blocks(32) * 32 * conv.inputs);
  const double product_ps = conv.weight_bits <= 4 ? 12 : 16;
  return 1e-6 * static_cast<double>(conv.output_pixels) *
         (product_ps * gathered + 86000 * static_cast<double>(conv.groups));
}

/// @param levels  levels of the pixels
template <typename Weights>
Kernel create(const NodeContext& context, const kernels::Int8Pixels& levels, Weights weights) {
  const double us = int8_conv_us(conv_extent(context.graph, context.node), cost_core());
  const auto product = [levels](const std::byte* x, const Weights& w, const ConvPart& part) {
    const auto* q = reinterpret_cast<const std::int8_t*>(x);
    convolve({q, levels.scale, levels.offset}, w, part);
  };
  return coded_conv_kernel(context, us, std::move(weights), product);
}

Verdict judge_conv_int8(const NodeContext& context) {
  static_assert(kernels::LevelMatmulWeights::kMaxInputs == ir::kMaxIntegerInputs);
  static_assert(ByteConvWeights::kMaxInputs == ir::kMaxIntegerConvInputs);
  static_assert(ByteConvWeights::kSectionChannels == ir::kGroupedConvChannels);
  static_assert(DepthwiseWeights::kMaxTaps == ir::kMaxDepthwiseTaps);
  const ConvExtent extent = conv_extent(context.graph, context.node);
  return accept(std::to_string(extent.weight_bits) + "-bit weights" +
                    (extent.depthwise ? ", lanes are channels" : ""),
                speed_of(extent, int8_conv_us));
}

Kernel create_conv_int8(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const kernels::ConvShape shape = conv_shape(context);
  const kernels::Int8Levels levels(context.input(0).encoding.codes->levels(0));
  const kernels::Int8Pixels x{nullptr, levels.scale, levels.offset};
  const auto bias = constant_floats(context, 2);
  const ConvExtent extent = conv_extent(context.graph, context.node);
  if (extent.depthwise) {
    return create(context, x, DepthwiseWeights(shape, codes.codes, *codes.encoding, bias, x));
  }
  const kernels::EncodedWeights weights{codes.codes, *codes.encoding, bias};
  if (!extent.gathers) {
    const kernels::ByteLayout layout = kernels::preferred_byte_layout(*codes.encoding);
    return create(context, x, ByteConvWeights(shape, weights, x, layout));
  }
  const kernels::LevelLayout layout = kernels::preferred_byte_levels();
  return create(context, x, Int8ConvWeights(shape, weights, layout, x.offset));
}

}  // namespace

constinit const Implementation kConvInt8{.name = "int8_conv",
                                         .judge = judge_conv_int8,
                                         .create = create_conv_int8,
                                         .arithmetic = KernelArithmetic::kIntegers,
                                         .reads = CodeLayout::kInt8,
                                         .finishes_output = true};

}  // namespace halftone::runtime
