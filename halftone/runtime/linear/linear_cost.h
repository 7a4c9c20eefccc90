// SPDX-License-Identifier: Apache-2.0
// Cost model of the layer products, from which a plan chooses an implementation.
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// A method of multiplying inputs by weights.
enum class Product {
  kBits,     ///< bit planes of the input by bit planes of the weights
  kPlanes,   ///< 8-bit integers by bit planes of the weights
  kNibbles,  ///< 8-bit integers by looked-up levels of at most 4 bits
  kBytes,    ///< 8-bit integers by levels of the weights
  kFloat,    ///< oneDNN, float32
};

/// A layer [rows, inputs] x [outputs, inputs].
struct LayerExtent {
  std::size_t rows = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  int input_bits = 0;            ///< 0: float32
  int weight_bits = 0;           ///< 0: float32
  std::size_t group_inputs = 0;  ///< inputs that share a basis of the weights; 0: all of an output
};

LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node);

/// Time per weight (once in a run) and time per product.
struct Picoseconds {
  double weight;
  double product;
};

/// The measured times of each method, defined beside its implementation. They were measured by
/// `make bench` on layers of 784 x 700 and 4096 x 4096 with 1 to 256 rows, on one processor (Zen 3,
/// AVX2, 3.15 GHz). Only the ratios matter. Every machine must make the same choice, because the
/// methods round differently. With AVX-512, as far as counted or tried, the same methods win.
Picoseconds bits_time(const LayerExtent& layer);
Picoseconds planes_time(const LayerExtent& layer);
Picoseconds nibbles_time(const LayerExtent& layer);
Picoseconds bytes_time(const LayerExtent& layer);
Picoseconds float_time(const LayerExtent& layer);

/// Estimated time of one thread in microseconds.
double cost_us(Product product, const LayerExtent& layer);

/// The fastest method with integers and the levels of the weights.
Product cheapest_levels(const LayerExtent& layer);
/// The fastest method with integers.
Product cheapest_int8(const LayerExtent& layer);

/// The number of threads worth waking for this amount of work.
std::size_t worthwhile_threads(double us, int threads);

}  // namespace halftone::runtime
