// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/linear/linear.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/work.h"
#include "halftone/runtime/implementation.h"

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

/// Unpacks rows of a matrix in blocks.
struct BlockRows {
  const ir::BlockTensor& weights;

  void operator()(std::size_t row, std::span<std::int8_t> codes, std::span<float> scales,
                  std::span<float> offsets) const {
    const numerics::BlockEncoding& encoding = *weights.encoding;
    const std::size_t groups = encoding.block / encoding.group;
    const std::span<const std::byte> bytes = weights.row(row);
    for (std::size_t b = 0; b < codes.size() / encoding.block; ++b) {
      encoding.unpack(encoding, bytes.data() + b * encoding.block_bytes,
                      {codes.data() + b * encoding.block, scales.data() + b * groups,
                       encoding.has_offsets ? offsets.data() + b * groups : nullptr});
    }
  }
};

/// What kernels store: codes of all levels where they have no others.
numerics::GroupCodes kernel_codes(const numerics::BlockEncoding& encoding) {
  numerics::GroupCodes codes = encoding;
  codes.numbers = {};
  return codes;
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

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

std::optional<Verdict> refuse_float_layer(const NodeContext& context) {
  if (ir::are_integers(context.input(0), context.input(1))) return refuse("integers");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (context.input(0).shape.element_count() == 0 || context.output().shape.element_count() == 0 ||
      context.input(1).shape.element_count() == 0) {
    return refuse("there is nothing to compute");
  }
  return std::nullopt;
}

kernels::PackedGroups pack_groups(const ir::BlockTensor& weights, int threads) {
  const auto [rows, cols] = ir::matrix_extent(weights.shape);
  numerics::GroupCodes codes = kernel_codes(*weights.encoding);
  for (;;) {
    kernels::PackedGroups packed(rows, cols, codes);
    std::vector<std::uint8_t> is_exact(static_cast<std::size_t>(threads), 1);
    divide(packed.num_strips(), is_exact.size(),
           [&](std::size_t share, kernels::BlockRange strips) {
             is_exact[share] = packed.pack_strips(strips, BlockRows{weights}) ? 1 : 0;
           });
    const bool all = std::ranges::count(is_exact, 0) == 0;
    if (all || codes.scales == numerics::GroupScales::kFloat) return packed;
    codes.scales = numerics::GroupScales::kFloat;
  }
}

}  // namespace halftone::runtime
