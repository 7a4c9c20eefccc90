// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/plan/tuning.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::LevelMatmulWeights;
using kernels::PlaneMatmulWeights;

void multiply(const kernels::Int8Rows& x, const PlaneMatmulWeights& w, kernels::BlockRange blocks,
              MatrixView<float> y) {
  kernels::plane_matmul(x, w, blocks, y);
}
void multiply(const kernels::Int8Rows& x, const LevelMatmulWeights& w, kernels::BlockRange blocks,
              MatrixView<float> y) {
  kernels::level_matmul(x, w, blocks, y);
}

LayerExtent extent_of(const NodeContext& context) {
  return layer_extent(context.graph, context.node);
}

/// A layer whose weights are packed.
template <typename Weights>
struct Int8Layer {
  Weights weights;
  std::size_t rows;
  std::optional<kernels::Int8Levels> levels;  ///< of the input; nothing if it is float32
  ir::Activation activation;
  OutputShares shares;

  /// Scratch: scales [rows], then quantized activations [rows, n] of a float32 input.
  [[nodiscard]] std::size_t scratch_bytes() const {
    return rows * (sizeof(float) + (levels ? 0 : weights.inputs()));
  }

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    const std::size_t n = weights.inputs();
    const std::span scales(reinterpret_cast<float*>(scratch), rows);
    auto* q = reinterpret_cast<std::int8_t*>(scratch + scales.size_bytes());
    if (levels) {
      std::fill(scales.begin(), scales.end(), levels->scale);
    } else {
      kernels::quantize_rows(float_matrix(x, {rows, n}), {q, rows, n, n}, scales);
    }
    const kernels::Int8Rows input{
        {levels ? reinterpret_cast<const std::int8_t*>(x) : q, rows, n, n},
        scales,
        levels ? levels->offset : 0};
    const MatrixView<float> out = float_matrix(y, {rows, weights.outputs()});
    const auto compute = [&](kernels::BlockRange blocks) { multiply(input, weights, blocks, out); };
    shares.run(compute, activation, out);
  }
};

template <typename Weights>
Kernel create(const NodeContext& context, Weights weights, Product product) {
  const double us = speed_of(product, extent_of(context)).us;
  const std::size_t rows = row_extent(context.input(0).shape).rows;
  const OutputShares shares(weights.outputs(), Weights::kBlock, threads_for(context, us));
  std::optional<kernels::Int8Levels> levels;
  if (const ir::Encoding& x = context.input(0).encoding; !x.is_dense()) {
    levels = kernels::Int8Levels(x.codes->levels(0));
  }
  const auto layer = std::make_shared<Int8Layer<Weights>>(Int8Layer<Weights>{
      std::move(weights), rows, levels, context.op<ir::FullyConnected>().activation, shares});
  Kernel kernel;
  kernel.variant = to_string(product);
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(x, scratch, y);
    };
  };
  return kernel;
}

/// Groups of this size or more cost no more than one per output.
constexpr std::size_t kSmallGroup = 512;

bool is_grouped(const LayerExtent& layer) {
  return layer.group_inputs != 0 && layer.group_inputs < kSmallGroup;
}

Verdict judge_int8_levels(const NodeContext& context) {
  static_assert(LevelMatmulWeights::kMaxInputs == ir::kMaxIntegerInputs);
  const LayerExtent layer = extent_of(context);
  return accept(std::to_string(layer.rows) + (layer.rows == 1 ? " row, " : " rows, ") +
                    std::to_string(layer.weight_bits) + "-bit weights",
                speed_of(cheapest_levels(layer, cost_core()), layer));
}

Kernel create_int8_levels(const NodeContext& context) {
  const auto& [shape, encoding, codes] = std::get<ir::EncodedTensor>(*context.constant(1));
  const std::span<const float> bias = constant_floats(context, 2);
  const Product product = level_product(context, extent_of(context));
  if (product == Product::kPlanes) {
    const kernels::PlaneLayout layout = kernels::preferred_plane_layout();
    return create(context, PlaneMatmulWeights(codes, *encoding, bias, layout), product);
  }
  return create(context, LevelMatmulWeights(codes, *encoding, bias, level_layout(product)),
                product);
}

std::vector<Product> products_int8_levels(const NodeContext& context) {
  return level_products(extent_of(context));
}

/// A method with levels, and the weights that it takes.
struct LevelProduct {
  Product product;
  int max_bits;
};
constexpr LevelProduct kLevelProducts[] = {
    {Product::kPlanes, PlaneMatmulWeights::kMaxBits},
    {Product::kNibbles, LevelMatmulWeights::kMaxNibbleBits},
    {Product::kBytes, numerics::kMaxBits},
};

}  // namespace

// Measured with groups of 128 inputs.
Picoseconds planes_time(const LayerExtent& layer, Core core) {
  const int planes = layer.weight_bits;
  const bool grouped = is_grouped(layer);
  switch (core) {
    case Core::kAvx2:
      return {1.1 * planes, (grouped ? 6.9 : 5.9) * planes};
    case Core::kAvx512:
      return {1.0 * planes, (grouped ? 5.0 : 4.0) * planes};
    case Core::kAvx512Amd:
      return {0.5 * planes, (grouped ? 2.5 + 4.2 * planes : 3.4 * planes)};
  }
  return {};
}

Picoseconds nibbles_time(const LayerExtent& layer, Core core) {
  const bool grouped = is_grouped(layer);
  switch (core) {
    case Core::kAvx2:
      return {0, grouped ? 36.0 : layer.weight_bits < 4 ? 17.0 : 20.0};
    case Core::kAvx512:
      return {0, grouped ? 20.0 : 14.0};
    case Core::kAvx512Amd:
      return {0, grouped ? 14.2 : 9.5};
  }
  return {};
}

Picoseconds bytes_time(const LayerExtent& layer, Core core) {
  switch (core) {
    case Core::kAvx2:
      break;
    case Core::kAvx512:
      return {28, 4.7};
    case Core::kAvx512Amd:
      return {is_grouped(layer) ? 35.0 : 19.0, 5.2};
  }
  return {28, layer.weight_bits <= 4 ? 12.0 : 16.0};
}

Product cheapest_levels(const LayerExtent& layer, Core core) {
  const std::vector<Product> usable = level_products(layer);
  const auto cost = [&](Product product) { return cost_us(product, layer, core); };
  return *std::ranges::min_element(usable, {}, cost);
}

std::vector<Product> level_products(const LayerExtent& layer) {
  std::vector<Product> usable;
  for (const auto& [product, max_bits] : kLevelProducts) {
    if (layer.weight_bits > max_bits) continue;
    if (product == Product::kPlanes && !layer.is_summed) continue;
    usable.push_back(product);
  }
  return usable;
}

Product level_product(const NodeContext& context, const LayerExtent& layer) {
  if (context.way != nullptr && context.way->product) return *context.way->product;
  return cheapest_levels(layer, cost_core());
}

kernels::LevelLayout level_layout(Product product) {
  return product == Product::kNibbles ? kernels::LevelLayout::kNibbles
                                      : kernels::preferred_byte_levels();
}

constinit const Implementation kFullyConnectedLevels{.name = "int8_levels",
                                                     .judge = judge_int8_levels,
                                                     .create = create_int8_levels,
                                                     .arithmetic = KernelArithmetic::kIntegers,
                                                     .reads = CodeLayout::kInt8,
                                                     .products = products_int8_levels};

}  // namespace halftone::runtime
