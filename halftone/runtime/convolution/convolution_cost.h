// SPDX-License-Identifier: Apache-2.0
// What the ways to compute a Conv of codes cost: how a plan chooses among them.
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// A way to compute a convolution.
enum class ConvProduct {
  kBits,    ///< planes of the input by planes of the weights
  kLevels,  ///< integers of 8 bits by levels of the weights
  kFloat,   ///< oneDNN, float32, after the input was decoded
};

/// A convolution as the kernels see it.
struct ConvExtent {
  std::size_t input_pixels = 0;   ///< of all images
  std::size_t output_pixels = 0;  ///< of all images
  std::size_t channels = 0;
  std::size_t inputs = 0;  ///< of an output
  std::size_t groups = 1;
  std::size_t group_outputs = 0;
  int input_bits = 0;          ///< 0: float32
  int input_digits = 0;        ///< of numerics::split_digits()
  int weight_bits = 0;         ///< 0: float32
  bool grouped = false;        ///< some inputs of an output share a basis
  std::size_t lines = 0;       ///< of output pixels along the last axis, in all images
  std::size_t line_pairs = 0;  ///< what depthwise_conv() packs for them, of one channel
};

/// @pre the node is a Conv and all extents are known
ConvExtent conv_extent(const ir::Graph& graph, const ir::Node& node);

/// Whether kernels::depthwise_conv() takes the weights.
bool is_depthwise(const ConvExtent& conv);

/// Whether, of others, kernels::byte_conv() takes the weights, rather than kernels::int8_conv().
bool has_small_levels(const ConvExtent& conv);

/// About how many microseconds one thread takes, by what was measured on one processor (Zen 3,
/// AVX2); see linear_cost.h for why it is a table.
double conv_cost_us(ConvProduct product, const ConvExtent& conv);

}  // namespace halftone::runtime
