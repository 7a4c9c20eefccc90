// SPDX-License-Identifier: Apache-2.0
// What the ways to multiply by the weights of a layer cost: how a plan chooses among them.
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// A way to multiply.
enum class Product {
  kBits,     ///< planes of the input by planes of the weights
  kPlanes,   ///< integers of 8 bits by planes of the weights
  kNibbles,  ///< integers by levels that are looked up; at most 4 bits
  kBytes,    ///< integers by levels
  kFloat,    ///< oneDNN, float32
};

/// A layer [rows, inputs] x [outputs, inputs].
struct LayerExtent {
  std::size_t rows = 0;
  std::size_t inputs = 0;
  std::size_t outputs = 0;
  int input_bits = 0;            ///< 0: float32
  int weight_bits = 0;           ///< 0: float32
  std::size_t group_inputs = 0;  ///< that share a basis of the weights; 0: all of an output
};

LayerExtent layer_extent(const ir::Graph& graph, const ir::Node& node);

/// What a way to multiply takes: of each weight once in a run, and of each product.
struct Picoseconds {
  double weight;
  double product;
};

/// The times of the ways to multiply, each beside its implementation. They were measured by `make
/// bench` on layers of 784 x 700 and 4096 x 4096 with 1 to 256 rows, on one processor (Zen 3, AVX2,
/// 3.15 GHz). What counts is how the ways compare, and that every machine makes the same choice,
/// since they round differently. Where AVX-512 was counted or tried, the same ways win.
Picoseconds bits_time(const LayerExtent& layer);
Picoseconds planes_time(const LayerExtent& layer);
Picoseconds nibbles_time(const LayerExtent& layer);
Picoseconds bytes_time(const LayerExtent& layer);
Picoseconds float_time(const LayerExtent& layer);

/// About how many microseconds one thread takes.
double cost_us(Product product, const LayerExtent& layer);

/// The fastest way to multiply integers by the levels of the weights.
Product cheapest_levels(const LayerExtent& layer);
/// The fastest way to multiply integers by the weights.
Product cheapest_int8(const LayerExtent& layer);

/// How many of the threads are worth waking for so much work.
std::size_t worthwhile_threads(double us, int threads);

}  // namespace halftone::runtime
