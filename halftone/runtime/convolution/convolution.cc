// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/convolution/convolution.h"

#include <algorithm>

#include "halftone/base/bits.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"
#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/runtime/convolution/convolution_lines.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

constexpr std::size_t kMaxSpatialAxes = 3;

/// Output pixels of a line that fill the tiles of the kernels.
constexpr std::size_t kLongLine = 32;

/// A pointwise convolution with other axes over the same pixels: lines of kLongLine pixels or
/// somewhat more, where short lines would leave the tiles of the kernels half empty.
void lengthen_lines(kernels::ConvShape& shape) {
  if (!shape.is_pointwise()) return;
  auto& axes = shape.axes;
  const std::size_t pixels = axes[0].output * axes[1].output * axes[2].output;
  std::size_t length = std::min(kLongLine, pixels);
  while (length != 0 && pixels % length != 0) ++length;
  if (length <= axes[2].output) return;
  axes[0].input = axes[0].output = 1;
  axes[1].input = axes[1].output = pixels / length;
  axes[2].input = axes[2].output = length;
}

using kernels::BitConvWeights;

// Measured as described in convolution.h.
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

ConvExtent conv_extent(const ir::Graph& graph, const ir::Node& node) {
  const auto& op = std::get<ir::Conv>(node.op);
  const ir::ValueType& x = graph.value(node.inputs[0]).type;
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  const ir::LayerCodes codes = ir::layer_codes(graph, node);
  const ir::MatrixExtent pixels = row_extent(x.shape);
  const ir::Work work = ir::work_of(graph, node);
  const std::size_t inputs = work.inner;
  // The last axis: the number of columns that a line of outputs reads, and of rows of taps in each.
  const std::size_t last = op.window.rank() - 1;
  const auto width = static_cast<std::size_t>(graph.value(node.output).type.shape[last + 1]);
  const auto columns = static_cast<std::size_t>(w.shape[last + 1]);
  const std::size_t rows = columns == 0 ? 0 : inputs / columns;
  const std::size_t lines = width == 0 ? 0 : work.rows / width;
  const std::size_t strip =
      width == 0 ? 0
                 : (width - 1) * static_cast<std::size_t>(op.window.strides[last]) +
                       (columns - 1) * static_cast<std::size_t>(op.window.dilations[last]) + 1;
  return {pixels.rows,
          work.rows,
          pixels.cols,
          inputs,
          work.count,
          work.cols,
          codes.input_bits,
          codes.input_digits,
          codes.weight_bits,
          codes.group_size == 0 ? 1 : (inputs + codes.group_size - 1) / codes.group_size,
          ir::gathers_inputs(w.shape, codes.group_size),
          ir::is_depthwise(op, w.shape),
          lines,
          lines * strip * ((rows + 1) / 2)};
}

Speed speed_of(const ConvExtent& conv, double (*us)(const ConvExtent&, Core)) {
  const Core core = cost_core();
  ConvExtent without_codes = conv;
  without_codes.input_bits = 0;
  return {us(conv, core), float_conv_us(without_codes, core)};
}

std::array<kernels::ConvAxis, 3> conv_axes(const ir::Window& window,
                                           std::span<const ir::Dim> kernel, const ir::Shape& x,
                                           const ir::Shape& y) {
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  std::array<kernels::ConvAxis, kMaxSpatialAxes> axes;
  const std::size_t rank = window.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    axes[kMaxSpatialAxes - rank + i] = {extent(x[i + 1]),
                                        extent(y[i + 1]),
                                        extent(kernel[i]),
                                        extent(window.strides[i]),
                                        extent(window.dilations[i]),
                                        extent(window.pads_before[i])};
  }
  return axes;
}

kernels::ConvShape conv_shape(const NodeContext& context) {
  const auto& op = context.op<ir::Conv>();
  const ir::Shape& x = context.input(0).shape;
  const ir::Shape& w = context.input(1).shape;
  const auto extent = [](ir::Dim dim) { return static_cast<std::size_t>(dim); };
  kernels::ConvShape shape{extent(x[0]),
                           conv_axes(op.window, ir::kernel_extents(w), x, context.output().shape),
                           extent(x.back()), extent(w[0]), extent(op.groups)};
  lengthen_lines(shape);
  return shape;
}

kernels::ConvShape pointwise_shape(std::size_t pixels, std::size_t channels, std::size_t outputs) {
  kernels::ConvShape shape{1, {}, channels, outputs, 1};
  shape.axes[1].input = shape.axes[1].output = pixels;
  lengthen_lines(shape);
  return shape;
}

constinit const Implementation kConvBits{.name = "bit_conv",
                                         .judge = judge_conv_bits,
                                         .create = create_conv_bits,
                                         .arithmetic = KernelArithmetic::kBits,
                                         .finishes_output = true};

}  // namespace halftone::runtime
