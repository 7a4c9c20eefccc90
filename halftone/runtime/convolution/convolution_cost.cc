// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/convolution/convolution_cost.h"

#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/numerics/digits.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

ConvExtent conv_extent(const ir::Graph& graph, const ir::Node& node) {
  const auto& op = std::get<ir::Conv>(node.op);
  const ir::ValueType& x = graph.value(node.inputs[0]).type;
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  const auto bits = [](const ir::Encoding& e) { return e.is_dense() ? 0 : e.basis->bits; };
  const ir::MatrixExtent pixels = row_extent(x.shape);
  const auto outputs = static_cast<std::size_t>(w.shape[0]);
  const auto groups = static_cast<std::size_t>(op.groups);
  const std::size_t weights = w.shape.element_count();
  const std::size_t inputs = outputs == 0 ? 0 : weights / outputs;
  const int digits =
      x.encoding.is_dense()
          ? 0
          : static_cast<int>(
                numerics::split_digits(x.encoding.basis->bases.front(), inputs).size());
  // The last axis: how many columns a line of outputs sees, with how many rows of taps each.
  const std::size_t last = op.window.rank() - 1;
  const auto width = static_cast<std::size_t>(graph.value(node.output).type.shape[last + 1]);
  const auto columns = static_cast<std::size_t>(w.shape[last + 1]);
  const std::size_t rows = columns == 0 ? 0 : inputs / columns;
  const std::size_t output_pixels = row_extent(graph.value(node.output).type.shape).rows;
  const std::size_t lines = width == 0 ? 0 : output_pixels / width;
  const std::size_t strip =
      width == 0 ? 0
                 : (width - 1) * static_cast<std::size_t>(op.window.strides[last]) +
                       (columns - 1) * static_cast<std::size_t>(op.window.dilations[last]) + 1;
  return {pixels.rows,
          output_pixels,
          pixels.cols,
          inputs,
          groups,
          outputs / groups,
          bits(x.encoding),
          digits,
          bits(w.encoding),
          !w.encoding.is_dense() && w.encoding.basis->granularity == numerics::Granularity::kGroup,
          lines,
          lines * strip * ((rows + 1) / 2)};
}

bool is_depthwise(const ConvExtent& conv) {
  return conv.groups == conv.channels && conv.group_outputs == 1 &&
         conv.inputs <= kernels::DepthwiseWeights::kMaxTaps;
}

bool has_small_levels(const ConvExtent& conv) {
  return !conv.grouped && conv.weight_bits <= kernels::ByteConvWeights::kMaxBits &&
         conv.inputs <= kernels::ByteConvWeights::kMaxInputs;
}

// Measured on the layers of ResNet-20, 3 x 3 of 64 channels on 8 x 8 to 16 channels on 32 x 32,
// strided ones and 1 x 1, depthwise ones on those of MobileNet and DS-CNN: microseconds that
// `conv_bench` and `make bench FILTER=conv` show.
double conv_cost_us(ConvProduct product, const ConvExtent& conv) {
  const auto pixels = static_cast<double>(conv.output_pixels);
  const auto outputs = static_cast<double>(conv.groups * conv.group_outputs);
  const double products = pixels * outputs * static_cast<double>(conv.inputs);
  const auto numbers = static_cast<double>(conv.input_pixels) * static_cast<double>(conv.channels);
  // A block of outputs takes its time whether it is full or not.
  const auto blocks_of = [&](std::size_t block) {
    return conv.groups * ((conv.group_outputs + block - 1) / block);
  };
  const double block_pixels = pixels * static_cast<double>(blocks_of(16));
  const double full = block_pixels * static_cast<double>(16 * conv.inputs);
  switch (product) {
    case ConvProduct::kBits: {
      const double pairs = conv.input_digits * conv.weight_bits;
      return 1e-6 * (1.8 * pairs * full + (1200 * pairs + 12000) * block_pixels + 20 * numbers);
    }
    case ConvProduct::kLevels: {
      if (is_depthwise(conv)) {
        const std::size_t blocks = (conv.channels + 15) / 16;
        const auto taps = static_cast<double>(conv.inputs);
        const auto packed = static_cast<double>(conv.line_pairs * blocks * 16);
        const auto line_blocks = static_cast<double>(conv.lines * blocks);
        return 1e-6 * (pixels * outputs * (50 + 20 * taps) + 140 * packed + 10000 * line_blocks);
      }
      if (has_small_levels(conv)) return 1e-6 * (10.5 * full + 10600 * block_pixels);
      const auto gathered = static_cast<double>(blocks_of(32) * 32 * conv.inputs);
      const double product_ps = conv.weight_bits <= 4 ? 12 : 16;
      return 1e-6 * pixels * (product_ps * gathered + 86000 * static_cast<double>(conv.groups));
    }
    case ConvProduct::kFloat:
      break;
  }
  return 1e-6 * (25 * products + 150 * pixels * outputs + 600 * numbers);
}

}  // namespace halftone::runtime
