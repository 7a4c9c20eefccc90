// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/runtime/ops/convolution.h"
#include "halftone/runtime/ops/convolution_codes.h"
#include "halftone/runtime/ops/convolution_cost.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::BitConvWeights;

/// A layer whose weights are packed.
struct BitConvLayer {
  BitConvWeights weights;
  ConvActivation activation;
  LineShares shares;

  [[nodiscard]] std::size_t scratch_bytes() const {
    return shares.shares * weights.scratch_bytes();
  }

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    const kernels::ConvShape& shape = weights.shape();
    const MatrixView<float> out = float_matrix(y, {shape.num_pixels(), shape.outputs});
    const std::size_t pixels = shape.images * shape.image_input_pixels();
    const std::span planes(reinterpret_cast<const std::uint64_t*>(x),
                           pixels * weights.x_bits() * words_for_bits(shape.channels));
    const std::size_t bytes = weights.scratch_bytes();
    shares.run([&](std::size_t share, kernels::LineRange lines) {
      kernels::bit_conv(planes, weights, lines, activation.finish, {scratch + share * bytes, bytes},
                        out);
      activate_lines(activation.after, shape, lines, out);
    });
  }
};

}  // namespace

std::optional<std::string> why_not_bit_conv(const ir::Graph& graph, const ir::Node& node) {
  if (auto reason = why_not_coded_conv(graph, node)) return reason;
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  if (w.encoding.basis->granularity == numerics::Granularity::kGroup) {
    return "weights have a basis per group of " + std::to_string(w.encoding.basis->group_size) +
           " inputs";
  }
  if (conv_extent(graph, node).inputs > BitConvWeights::kMostInputs) {
    return "more than " + std::to_string(BitConvWeights::kMostInputs) + " inputs";
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
  const auto layer = std::make_shared<BitConvLayer>(
      BitConvLayer{BitConvWeights(shape, codes.codes, *codes.encoding, constant_floats(context, 2),
                                  context.input(0).encoding.basis->bases.front()),
                   split_activation(context.op<ir::Conv>().activation),
                   make_line_shares(shape, us, context.threads)});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(x, scratch, y);
    };
  };
  return kernel;
}

}  // namespace halftone::runtime
