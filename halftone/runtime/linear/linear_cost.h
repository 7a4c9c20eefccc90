// SPDX-License-Identifier: Apache-2.0
// What the ways to compute a fully connected layer cost: how a plan chooses among them.
#pragma once

#include <cstddef>

#include "halftone/runtime/kernel.h"

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

/// About how many microseconds one thread takes, by a table measured on one processor (Zen 3, AVX2,
/// 3.15 GHz). What counts is how the ways compare, and that every machine makes the same choice:
/// they round differently. Where it was counted or tried (AVX-512, see linear_cost.cc), the same
/// ways win.
double cost_us(Product product, const LayerExtent& layer);

/// The fastest way to multiply integers by the levels of the weights.
Product cheapest_levels(const LayerExtent& layer);
/// The fastest way to multiply integers by the weights.
Product cheapest_int8(const LayerExtent& layer);

/// How many of the threads are worth waking for so much work.
std::size_t worthwhile_threads(double us, int threads);

}  // namespace halftone::runtime
