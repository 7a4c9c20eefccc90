// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/convolution/convolution_cost.h"

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

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

}  // namespace halftone::runtime
