// SPDX-License-Identifier: Apache-2.0
// Cost model of the layer products, from which a plan chooses a kernel of an arithmetic.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/runtime/cost_core.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/product.h"

namespace halftone::runtime {

/// A layer [rows, inputs] x [outputs, inputs].
struct LayerExtent {
  std::size_t rows = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  int input_bits = 0;            ///< 0: float32
  int weight_bits = 0;           ///< 0: float32
  std::size_t group_inputs = 0;  ///< inputs that share a scale of the weights; 0: all of an output
  bool is_summed = true;         ///< whether bits of the weights are signs of coefficients
  std::size_t steps = 1;         ///< how often it is computed: the steps of a Recurrent
};

/// The extents of ir::work_of(). @param node  a FullyConnected or Recurrent
LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node);

/// Time per weight (once in a run) and time per product.
struct Picoseconds {
  double weight;
  double product;
};

/// The measured times of each method, defined beside its implementation: by `make bench` on layers
/// of 784 x 700 and 4096 x 4096 with 1 to 256 rows, for AVX2 on Zen 3 at 3.15 GHz, for AVX-512 on
/// Sapphire Rapids, by AMD on Zen 4. Only the ratios matter.
Picoseconds bits_time(const LayerExtent& layer, Core core);
Picoseconds planes_time(const LayerExtent& layer, Core core);
Picoseconds nibbles_time(const LayerExtent& layer, Core core);
Picoseconds bytes_time(const LayerExtent& layer, Core core);
Picoseconds float_time(const LayerExtent& layer, Core core);

/// Estimated time of one thread in microseconds, for all steps.
double cost_us(Product product, const LayerExtent& layer, Core core);

/// The same and that of a float32 layer, on the processor at hand.
Speed speed_of(Product product, const LayerExtent& layer);

/// The fastest method with integers and the levels of the weights: kPlanes, kNibbles or kBytes. The
/// choice changes no result.
Product cheapest_levels(const LayerExtent& layer, Core core);

/// Those of these methods that a layer may use, for Implementation::products.
std::vector<Product> level_products(const LayerExtent& layer);

/// The layout of a method with levels, on the processor at hand.
/// @pre product is kNibbles or kBytes
kernels::LevelLayout level_layout(Product product);

/// The layout for bits, on the processor at hand.
kernels::BitLayout bit_layout(const ir::EncodedTensor& weights);

/// The method of the way to compute a node, or the cheapest one on the processor at hand.
Product level_product(const NodeContext& context, const LayerExtent& layer);

/// The number of threads worth waking for this amount of work.
std::size_t worthwhile_threads(double us, int threads);
/// The threads for a node of this amount of work: all of the way to compute it, or by estimate.
std::size_t threads_for(const NodeContext& context, double us);

}  // namespace halftone::runtime
