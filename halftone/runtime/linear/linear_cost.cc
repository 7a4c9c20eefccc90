// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/linear_cost.h"

#include <algorithm>
#include <array>

#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Picoseconds: of a weight once in a run, and of a product.
struct Picoseconds {
  double weight;
  double product;
};

/// Measured by `make bench` on layers of 784 x 700 and 4096 x 4096, 1 to 256 rows, the groups on
/// 128 inputs: kBits per pair of planes, kPlanes per plane, kNibbles for 3 and for 4 bits, kBytes
/// for up to 4 and for more. On Zen 5 with AVX-512 prototypes of these kernels and oneDNN took
/// (0.6, 0.5), (0, 1.4), (0, 4), (7, 2), (31, 7.5).
constexpr Picoseconds kBits{0.2, 2.9};
constexpr Picoseconds kPlanes{1.1, 5.9};
constexpr Picoseconds kGroupedPlanes{1.1, 6.9};
constexpr Picoseconds kThreeBitNibbles{0, 17};
constexpr Picoseconds kNibbles{0, 20};
constexpr Picoseconds kGroupedNibbles{0, 36};
constexpr Picoseconds kBytes{28, 12};
constexpr Picoseconds kManyBitBytes{28, 16};
constexpr Picoseconds kFloat{50, 27};
/// Larger groups cost no more than one per output.
constexpr std::size_t kSmallGroup = 512;

/// Waking a thread and waiting for it costs some ten microseconds, more on a busy machine.
constexpr double kWorthAThread = 50;

Picoseconds table(Product product, const LayerExtent& layer) {
  const bool grouped = layer.group_inputs != 0 && layer.group_inputs < kSmallGroup;
  const auto scaled = [](Picoseconds p, int times) {
    return Picoseconds{p.weight * times, p.product * times};
  };
  switch (product) {
    case Product::kBits:
      return scaled(kBits, layer.input_bits * layer.weight_bits);
    case Product::kPlanes:
      return scaled(grouped ? kGroupedPlanes : kPlanes, layer.weight_bits);
    case Product::kNibbles:
      if (grouped) return kGroupedNibbles;
      return layer.weight_bits < 4 ? kThreeBitNibbles : kNibbles;
    case Product::kBytes:
      return layer.weight_bits <= 4 ? kBytes : kManyBitBytes;
    case Product::kFloat:
      break;
  }
  return kFloat;
}

}  // namespace

LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node) {
  const ir::ValueType& x = graph.value(node.inputs[0]).type;
  const ir::ValueType& w = graph.value(node.inputs[1]).type;
  const ir::MatrixExtent extent = row_extent(x.shape);
  const auto bits = [](const ir::Encoding& e) { return e.is_dense() ? 0 : e.basis->bits; };
  const bool grouped =
      !w.encoding.is_dense() && w.encoding.basis->granularity == numerics::Granularity::kGroup;
  return {extent.rows,      extent.cols,      static_cast<std::size_t>(w.shape[0]),
          bits(x.encoding), bits(w.encoding), grouped ? w.encoding.basis->group_size : 0};
}

double cost_us(Product product, const LayerExtent& layer) {
  const Picoseconds p = table(product, layer);
  const double weights = static_cast<double>(layer.outputs) * static_cast<double>(layer.inputs);
  return 1e-6 * weights * (p.weight + p.product * static_cast<double>(layer.rows));
}

Product cheapest_levels(const LayerExtent& layer) {
  const bool fits = layer.weight_bits <= kernels::LevelMatmulWeights::kMaxNibbleBits;
  return fits && cost_us(Product::kNibbles, layer) <= cost_us(Product::kBytes, layer)
             ? Product::kNibbles
             : Product::kBytes;
}

Product cheapest_int8(const LayerExtent& layer) {
  const Product levels = cheapest_levels(layer);
  return cost_us(Product::kPlanes, layer) <= cost_us(levels, layer) ? Product::kPlanes : levels;
}

std::size_t worthwhile_threads(double us, int threads) {
  return us < kWorthAThread ? 1 : static_cast<std::size_t>(threads);
}

}  // namespace halftone::runtime
