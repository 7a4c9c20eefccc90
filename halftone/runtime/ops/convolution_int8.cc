// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/runtime/ops/convolution.h"
#include "halftone/runtime/ops/convolution_codes.h"
#include "halftone/runtime/ops/convolution_cost.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::Int8ConvWeights;

/// A layer whose weights are packed.
struct Int8ConvLayer {
  Int8ConvWeights weights;
  float scale;  ///< of the input, and its offset
  float offset;
  ConvActivation activation;
  LineShares shares;

  [[nodiscard]] std::size_t scratch_bytes() const {
    return shares.shares * weights.scratch_bytes();
  }

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    const kernels::ConvShape& shape = weights.shape();
    const MatrixView<float> out = float_matrix(y, {shape.num_pixels(), shape.outputs});
    const kernels::Int8Pixels pixels{reinterpret_cast<const std::int8_t*>(x), scale, offset};
    const std::size_t bytes = weights.scratch_bytes();
    shares.run([&](std::size_t share, kernels::LineRange lines) {
      kernels::int8_conv(pixels, weights, lines, activation.finish,
                         {scratch + share * bytes, bytes}, out);
      activate_lines(activation.after, shape, lines, out);
    });
  }
};

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
  const double us = conv_cost_us(ConvProduct::kLevels, conv_extent(context.graph, context.node));
  const auto layer = std::make_shared<Int8ConvLayer>(Int8ConvLayer{
      Int8ConvWeights(shape, codes.codes, *codes.encoding, constant_floats(context, 2),
                      levels.offset, kernels::Int8Product::kLevels),
      levels.scale, levels.offset, split_activation(context.op<ir::Conv>().activation),
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
