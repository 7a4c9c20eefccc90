// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/linear_cost.h"

#include <algorithm>
#include <iterator>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"

namespace halftone::runtime {
namespace {

/// Waking a thread and waiting for it takes some ten microseconds, and more on a busy machine.
constexpr double kWorthAThread = 50;

struct ProductName {
  Product product;
  std::string_view name;
};
constexpr ProductName kProductNames[] = {
    {Product::kBits, "bits"},   {Product::kPlanes, "planes"}, {Product::kNibbles, "nibbles"},
    {Product::kBytes, "bytes"}, {Product::kFloat, "float"},
};

Picoseconds time_of(Product product, const LayerExtent& layer, Core core) {
  switch (product) {
    case Product::kBits:
      return bits_time(layer, core);
    case Product::kPlanes:
      return planes_time(layer, core);
    case Product::kNibbles:
      return nibbles_time(layer, core);
    case Product::kBytes:
      return bytes_time(layer, core);
    case Product::kFloat:
      break;
  }
  return float_time(layer, core);
}

}  // namespace

std::string_view to_string(Product product) {
  const auto* const found = std::ranges::find(kProductNames, product, &ProductName::product);
  return found == std::end(kProductNames) ? "unknown" : found->name;
}

std::optional<Product> product_named(std::string_view name) {
  const auto* const found = std::ranges::find(kProductNames, name, &ProductName::name);
  return found == std::end(kProductNames) ? std::nullopt : std::optional(found->product);
}

LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node) {
  const ir::Work work = ir::work_of(graph, node);
  const ir::LayerCodes codes = ir::layer_codes(graph, node);
  return {.rows = work.rows,
          .inputs = work.inner,
          .outputs = work.cols,
          .input_bits = codes.input_bits,
          .weight_bits = codes.weight_bits,
          .group_inputs = codes.group_size,
          .is_summed = codes.weights_are_summed(),
          .steps = work.count};
}

double cost_us(Product product, const LayerExtent& layer, Core core) {
  const Picoseconds p = time_of(product, layer, core);
  const double weights = static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs);
  const double step = weights * (p.weight + p.product * static_cast<double>(layer.rows));
  return 1e-6 * static_cast<double>(layer.steps) * step;
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
