// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/runtime/ops/convolution.h"
#include "halftone/runtime/ops/convolution_codes.h"
#include "halftone/runtime/ops/convolution_cost.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::ByteConvWeights;
using kernels::Int8ConvWeights;

void compute(const kernels::Int8Pixels& x, const ByteConvWeights& w, kernels::LineRange lines,
             const kernels::ConvFinish& finish, std::span<std::byte> scratch, MatrixView<float> y) {
  kernels::byte_conv(x.q, w, lines, finish, scratch, y);
}
void compute(const kernels::Int8Pixels& x, const Int8ConvWeights& w, kernels::LineRange lines,
             const kernels::ConvFinish& finish, std::span<std::byte> scratch, MatrixView<float> y) {
  kernels::int8_conv(x, w, lines, finish, scratch, y);
}

/// A layer whose weights are packed.
template <typename Weights>
struct Int8ConvLayer {
  Weights weights;
  kernels::Int8Pixels x;  ///< scale and offset
  ConvActivation activation;
  LineShares shares;

  [[nodiscard]] std::size_t scratch_bytes() const {
    return shares.shares * weights.scratch_bytes();
  }

  void run(const std::byte* input, std::byte* scratch, std::byte* y) const {
    const kernels::ConvShape& shape = weights.shape();
    const MatrixView<float> out = float_matrix(y, {shape.num_pixels(), shape.outputs});
    const kernels::Int8Pixels pixels{reinterpret_cast<const std::int8_t*>(input), x.scale,
                                     x.offset};
    const std::size_t bytes = weights.scratch_bytes();
    shares.run([&](std::size_t share, kernels::LineRange lines) {
      compute(pixels, weights, lines, activation.finish, {scratch + share * bytes, bytes}, out);
      activate_lines(activation.after, shape, lines, out);
    });
  }
};

template <typename Weights>
Kernel create(const NodeContext& context, const kernels::Int8Pixels& x, Weights weights) {
  const double us = conv_cost_us(ConvProduct::kLevels, conv_extent(context.graph, context.node));
  const LineShares shares = make_line_shares(weights.shape(), us, context.threads);
  const auto layer = std::make_shared<Int8ConvLayer<Weights>>(Int8ConvLayer<Weights>{
      std::move(weights), x, split_activation(context.op<ir::Conv>().activation), shares});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, input = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(input, scratch, y);
    };
  };
  return kernel;
}

}  // namespace

std::optional<std::string> why_not_int8_conv(const ir::Graph& graph, const ir::Node& node) {
  if (auto reason = why_not_coded_conv(graph, node)) return reason;
  constexpr std::size_t kMostInputs = kernels::LevelMatmulWeights::kMostInputs;
  if (conv_extent(graph, node).inputs > kMostInputs) {
    return "more than " + std::to_string(kMostInputs) + " inputs";
  }
  return std::nullopt;
}

Verdict judge_conv_int8(const NodeContext& context) {
  if (auto reason = why_not_int8_conv(context.graph, context.node)) {
    return refuse(std::move(*reason));
  }
  if (!context.int8_activations) return refuse("activations are not to be rounded");
  if (context.input_layout(0) == CodeLayout::kPlanes) return refuse("the input lies as bits");
  const ConvExtent extent = conv_extent(context.graph, context.node);
  return accept(std::to_string(extent.weight_bits) + "-bit weights",
                conv_cost_us(ConvProduct::kLevels, extent));
}

Kernel create_conv_int8(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const kernels::ConvShape shape = conv_shape(context);
  const kernels::Int8Levels levels(context.input(0).encoding.basis->bases.front());
  const kernels::Int8Pixels x{nullptr, levels.scale, levels.offset};
  const auto bias = constant_floats(context, 2);
  if (has_small_levels(conv_extent(context.graph, context.node))) {
    return create(context, x, ByteConvWeights(shape, codes.codes, *codes.encoding, bias, x));
  }
  return create(context, x,
                Int8ConvWeights(shape, codes.codes, *codes.encoding, bias, x.offset,
                                kernels::Int8Product::kLevels));
}

}  // namespace halftone::runtime
