// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/linear_cost.h"

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Waking a thread and waiting for it takes some ten microseconds, and more on a busy machine.
constexpr double kWorthAThread = 50;

Picoseconds time_of(Product product, const LayerExtent& layer, Core core) {
  switch (product) {
    case Product::kBits:
      return bits_time(layer, core);
    case Product::kPlanes:
      return planes_time(layer, core);
    case Product::kNibbles:
      return nibbles_time(layer, core);
    case Product::kThrees:
      return threes_time(layer, core);
    case Product::kBytes:
      return bytes_time(layer, core);
    case Product::kFloat:
      break;
  }
  return float_time(layer, core);
}

}  // namespace

LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  const ir::MatrixExtent extent = row_extent(graph.value(node.inputs[0]).type.shape);
  const ir::LayerCodes codes = ir::layer_codes(graph, node);
  return {extent.rows,       extent.cols,      static_cast<std::size_t>(w.shape[0]),
          codes.input_bits,  codes.weight_bits, codes.group_size,
          codes.weights_are_summed()};
}

double cost_us(Product product, const LayerExtent& layer, Core core) {
  const Picoseconds p = time_of(product, layer, core);
  const double weights = static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs);
  return 1e-6 * weights * (p.weight + p.product * static_cast<double>(layer.rows));
}

Speed speed_of(Product product, const LayerExtent& layer) {
  const Core core = cost_core();
  return {cost_us(product, layer, core), cost_us(Product::kFloat, layer, core)};
}

std::size_t worthwhile_threads(double us, int threads) {
  return us < kWorthAThread ? 1 : static_cast<std::size_t>(threads);
}

std::size_t threads_for(const NodeContext& context, double us) {
  if (context.way != nullptr) return static_cast<std::size_t>(context.threads);
  return worthwhile_threads(us, context.threads);
}

}  // namespace halftone::runtime
