// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/bits.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/convolution/convolution_cost.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using kernels::BitConvWeights;

// Measured as described in convolution_cost.h.
double bit_conv_us(const ConvExtent& conv, Core core) {
  const double pairs = conv.bit_pairs();
  const double full = conv.block_pixels(16) * static_cast<double>(16 * conv.inputs);
  const double product_ps = core != Core::kAvx2 ? 1.2 : 1.8;
  return 1e-6 * (product_ps * pairs * full + (1200 * pairs + 12000) * conv.block_pixels(16) +
                 20 * conv.input_numbers());
}

Verdict judge_conv_bits(const NodeContext& context) {
  static_assert(BitConvWeights::kMaxInputs == ir::kMaxBitConvInputs);
  const ConvExtent extent = conv_extent(context.graph, context.node);
  return accept(std::to_string(extent.input_bits) + "-bit input, " +
                    std::to_string(extent.weight_bits) + "-bit weights",
                speed_of(extent, bit_conv_us));
}

Kernel create_conv_bits(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const kernels::ConvShape shape = conv_shape(context);
  const double us = bit_conv_us(conv_extent(context.graph, context.node), cost_core());
  const auto product = [](const std::byte* x, const BitConvWeights& weights, const ConvPart& part) {
    const kernels::ConvShape& s = weights.shape();
    const std::size_t words =
        s.images * s.image_input_pixels() * weights.x_bits() * words_for_bits(s.channels);
    kernels::bit_conv({reinterpret_cast<const std::uint64_t*>(x), words}, weights, part);
  };
  return coded_conv_kernel(
      context, us,
      BitConvWeights(shape, {codes.codes, *codes.encoding, constant_floats(context, 2)},
                     context.input(0).encoding.codes->basis(0),
                     kernels::preferred_bit_conv_layout(shape, codes.codes.bits)),
      product);
}

}  // namespace

constinit const Implementation kConvBits{.name = "bit_conv",
                                         .judge = judge_conv_bits,
                                         .create = create_conv_bits,
                                         .arithmetic = KernelArithmetic::kBits,
                                         .finishes_output = true};

}  // namespace halftone::runtime
