// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/conv/int8_conv.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"
#include "halftone/runtime/convolution/convolution_cost.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"

namespace halftone::runtime {
namespace {

using kernels::ByteConvWeights;
using kernels::DepthwiseWeights;
using kernels::Int8ConvWeights;

void convolve(const kernels::Int8Pixels& x, const ByteConvWeights& w, kernels::LineRange lines,
              const kernels::ConvFinish& finish, std::span<std::byte> scratch,
              MatrixView<float> y) {
  kernels::byte_conv(x.q, w, lines, finish, scratch, y);
}
void convolve(const kernels::Int8Pixels& x, const DepthwiseWeights& w, kernels::LineRange lines,
              const kernels::ConvFinish& finish, std::span<std::byte> scratch,
              MatrixView<float> y) {
  kernels::depthwise_conv(x.q, w, lines, finish, scratch, y);
}
void convolve(const kernels::Int8Pixels& x, const Int8ConvWeights& w, kernels::LineRange lines,
              const kernels::ConvFinish& finish, std::span<std::byte> scratch,
              MatrixView<float> y) {
  kernels::int8_conv(x, w, lines, finish, scratch, y);
}

/// @param levels  of the pixels
template <typename Weights>
Kernel create(const NodeContext& context, const kernels::Int8Pixels& levels, Weights weights) {
  const double us = conv_cost_us(ConvProduct::kLevels, conv_extent(context.graph, context.node));
  const auto product = [levels](const std::byte* x, const Weights& w, kernels::LineRange lines,
                                const kernels::ConvFinish& finish, std::span<std::byte> scratch,
                                MatrixView<float> y) {
    const kernels::Int8Pixels pixels{reinterpret_cast<const std::int8_t*>(x), levels.scale,
                                     levels.offset};
    convolve(pixels, w, lines, finish, scratch, y);
  };
  return coded_conv_kernel(context, us, std::move(weights), product);
}

}  // namespace

std::optional<std::string> why_not_int8_conv(const ir::Graph& graph, const ir::Node& node) {
  if (auto reason = why_not_coded_conv(graph, node)) return reason;
  constexpr std::size_t kMaxInputs = kernels::LevelMatmulWeights::kMaxInputs;
  if (conv_extent(graph, node).inputs > kMaxInputs) {
    return "more than " + std::to_string(kMaxInputs) + " inputs";
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
  return accept(std::to_string(extent.weight_bits) + "-bit weights" +
                    (is_depthwise(extent) ? ", lanes are channels" : ""),
                conv_cost_us(ConvProduct::kLevels, extent));
}

Kernel create_conv_int8(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const kernels::ConvShape shape = conv_shape(context);
  const kernels::Int8Levels levels(context.input(0).encoding.basis->bases.front());
  const kernels::Int8Pixels x{nullptr, levels.scale, levels.offset};
  const auto bias = constant_floats(context, 2);
  const ConvExtent extent = conv_extent(context.graph, context.node);
  if (is_depthwise(extent)) {
    return create(context, x, DepthwiseWeights(shape, codes.codes, *codes.encoding, bias, x));
  }
  if (has_small_levels(extent)) {
    return create(context, x, ByteConvWeights(shape, codes.codes, *codes.encoding, bias, x));
  }
  return create(context, x,
                Int8ConvWeights(shape, codes.codes, *codes.encoding, bias, x.offset,
                                kernels::Int8Product::kLevels));
}

}  // namespace halftone::runtime
