// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/ops/convolution_cost.h"

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
  return {pixels.rows,      row_extent(graph.value(node.output).type.shape).rows,
          pixels.cols,      outputs == 0 ? 0 : weights / outputs,
          groups,           outputs / groups,
          bits(x.encoding), bits(w.encoding)};
}

// Measured on the layers of ResNet-20, 3 x 3 of 64 channels on 8 x 8 to 16 channels on 32 x 32,
// strided ones and 1 x 1: microseconds that `conv_bench` and `make bench FILTER=conv` show.
double conv_cost_us(ConvProduct product, const ConvExtent& conv) {
  const auto pixels = static_cast<double>(conv.output_pixels);
  const auto outputs = static_cast<double>(conv.groups * conv.group_outputs);
  const double products = pixels * outputs * static_cast<double>(conv.inputs);
  const auto numbers = static_cast<double>(conv.input_pixels) * static_cast<double>(conv.channels);
  switch (product) {
    case ConvProduct::kBits: {
      // A block of 16 outputs takes its time whether it is full or not.
      constexpr std::size_t kBlock = 16;
      const std::size_t blocks = conv.groups * ((conv.group_outputs + kBlock - 1) / kBlock);
      const double block_pixels = pixels * static_cast<double>(blocks);
      const double pairs = conv.input_bits * conv.weight_bits;
      const double full = block_pixels * kBlock * static_cast<double>(conv.inputs);
      return 1e-6 * (1.8 * pairs * full + (5000 * pairs + 1000) * block_pixels + 20 * numbers);
    }
    case ConvProduct::kLevels: {
      constexpr std::size_t kBlock = 32;
      const std::size_t blocks = conv.groups * ((conv.group_outputs + kBlock - 1) / kBlock);
      const double full = pixels * static_cast<double>(blocks * kBlock * conv.inputs);
      return 1e-6 * (12 * full + 86000 * pixels * static_cast<double>(conv.groups));
    }
    case ConvProduct::kFloat:
      break;
  }
  return 1e-6 * (25 * products + 150 * pixels * outputs + 600 * numbers);
}

}  // namespace halftone::runtime
