// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/bits.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/convolution/convolution_cost.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {

using kernels::BitConvWeights;

std::optional<std::string> why_not_bit_conv(const ir::Graph& graph, const ir::Node& node) {
  if (auto reason = why_not_coded_conv(graph, node)) return reason;
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  if (w.encoding.basis->granularity == numerics::Granularity::kGroup) {
    return "weights have a basis per group of " + std::to_string(w.encoding.basis->group_size) +
           " inputs";
  }
  if (conv_extent(graph, node).inputs > BitConvWeights::kMaxInputs) {
    return "more than " + std::to_string(BitConvWeights::kMaxInputs) + " inputs";
  }
  return std::nullopt;
}

Verdict judge_conv_bits(const NodeContext& context) {
  if (auto reason = why_not_bit_conv(context.graph, context.node)) {
    return refuse(std::move(*reason));
  }
  const ConvExtent extent = conv_extent(context.graph, context.node);
  const std::string bits = std::to_string(extent.input_bits) + "-bit input, " +
                           std::to_string(extent.weight_bits) + "-bit weights";
  if (context.input_layout(0) == CodeLayout::kInt8) {
    return refuse(bits + ": faster as integers of 8 bits");
  }
  return accept(bits, conv_cost_us(ConvProduct::kBits, extent));
}

Kernel create_conv_bits(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const kernels::ConvShape shape = conv_shape(context);
  const double us = conv_cost_us(ConvProduct::kBits, conv_extent(context.graph, context.node));
  const auto product = [](const std::byte* x, const BitConvWeights& weights,
                          kernels::LineRange lines, const kernels::ConvFinish& finish,
                          std::span<std::byte> scratch, MatrixView<float> y) {
    const kernels::ConvShape& s = weights.shape();
    const std::size_t words =
        s.images * s.image_input_pixels() * weights.x_bits() * words_for_bits(s.channels);
    kernels::bit_conv({reinterpret_cast<const std::uint64_t*>(x), words}, weights, lines, finish,
                      scratch, y);
  };
  return coded_conv_kernel(
      context, us,
      BitConvWeights(shape, codes.codes, *codes.encoding, constant_floats(context, 2),
                     context.input(0).encoding.basis->bases.front()),
      product);
}

}  // namespace halftone::runtime
