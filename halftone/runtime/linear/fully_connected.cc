// SPDX-License-Identifier: Apache-2.0
// FullyConnected on bits, on weights in groups, and on float32 in a fixed order.
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/runtime/elementwise/elementwise.h"
#include "halftone/runtime/implementation.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// A layer whose weights are packed.
struct BitLayer {
  kernels::BitMatmulWeights weights;
  numerics::Basis x_basis;
  std::size_t rows;
  ir::Activation activation;
  OutputShares shares;

  void run(const std::byte* x, std::byte* y) const {
    const MatrixView<float> out = float_matrix(y, {rows, weights.outputs()});
    const std::size_t x_words = rows * static_cast<std::size_t>(x_basis.bits) * weights.words();
    const std::span planes(reinterpret_cast<const std::uint64_t*>(x), x_words);
    const auto compute = [&](kernels::BlockRange blocks) {
      kernels::bit_matmul(planes, x_basis, weights, blocks, out);
    };
    shares.run(compute, activation, out);
  }
};

/// "3-bit input, 2-bit weights".
std::string bits_text(const LayerExtent& layer) {
  return std::to_string(layer.input_bits) + "-bit input, " + std::to_string(layer.weight_bits) +
         "-bit weights";
}

Verdict judge_xnor(const NodeContext& context) {
  const LayerExtent layer = layer_extent(context.graph, context.node);
  return accept(bits_text(layer), speed_of(Product::kBits, layer));
}

Kernel create_xnor(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  kernels::BitMatmulWeights weights(codes.codes, *codes.encoding, constant_floats(context, 2),
                                    bit_layout(codes));
  const numerics::Basis x_basis = context.input(0).encoding.codes->basis(0);
  const std::size_t rows = row_extent(context.input(0).shape).rows;
  const double us = speed_of(Product::kBits, layer_extent(context.graph, context.node)).us;
  const OutputShares shares(weights.outputs(), weights.block_outputs(), threads_for(context, us));
  const auto layer = std::make_shared<BitLayer>(BitLayer{
      std::move(weights), x_basis, rows, context.op<ir::FullyConnected>().activation, shares});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.packed_inputs = {1, 2};
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], y = buffers.output] { layer->run(x, y); };
  };
  return kernel;
}

/// A layer of weights in groups. Threads divide the rows of x to encode them, then the strips of
/// outputs.
struct GroupLayer {
  std::shared_ptr<const kernels::PackedGroups> weights;
  std::vector<float> bias;  ///< [outputs], or none
  ir::Activation activation;
  std::size_t threads = 1;

  void run(MatrixView<const float> x, std::byte* scratch, MatrixView<float> y) const {
    const std::size_t bytes = kernels::EncodedRows::size_bytes(x.rows(), weights->extents());
    const kernels::EncodedRows rows({scratch, bytes}, x.rows(), weights->extents());
    divide(x.rows(), threads, [&](std::size_t /*share*/, kernels::BlockRange range) {
      kernels::encode_group_rows(x, range, rows);
    });
    divide(weights->num_strips(), threads, [&](std::size_t /*share*/, kernels::BlockRange strips) {
      kernels::multiply_groups(*weights, rows, strips, y);
      finish(strips, y);
    });
  }

 private:
  /// Adds the bias and applies the activation.
  void finish(kernels::BlockRange strips, MatrixView<float> y) const {
    const std::size_t first = strips.begin * kernels::kStripRows;
    const std::size_t last = std::min(strips.end * kernels::kStripRows, y.cols());
    for (std::size_t r = 0; r < y.rows(); ++r) {
      const std::span<float> row = y.row(r).subspan(first, last - first);
      if (!bias.empty()) {
        std::ranges::transform(row, std::span(bias).subspan(first, row.size()), row.begin(),
                               std::plus());
      }
      apply_activation(activation, row, row);
    }
  }
};

Verdict judge_fully_connected_groups(const NodeContext& context) {
  if (auto refusal = refuse_float_layer(context)) return *refusal;
  const numerics::BlockEncoding* blocks = context.input(1).encoding.blocks.get();
  if (blocks == nullptr) return refuse("the weights are not stored in blocks");
  return accept(std::string(blocks->name) + " in groups of " + std::to_string(blocks->group));
}

Kernel create_fully_connected_groups(const NodeContext& context) {
  const ir::MatrixExtent x = row_extent(context.input(0).shape);
  const auto outputs = static_cast<std::size_t>(context.output().shape.back());
  auto layer = std::make_shared<GroupLayer>();
  layer->weights = context.packed<kernels::PackedGroups>(1, [&] {
    return pack_groups(std::get<ir::BlockTensor>(*context.constant(1)), context.threads);
  });
  const std::span<const float> bias = constant_floats(context, 2);
  layer->bias.assign(bias.begin(), bias.end());
  layer->activation = context.op<ir::FullyConnected>().activation;
  const bool is_large = x.rows * x.cols * outputs >= 4 * kParallelNumbers;
  layer->threads = is_large ? static_cast<std::size_t>(context.threads) : 1;
  Kernel kernel;
  kernel.packed_bytes = layer->weights->size_bytes() + layer->bias.size() * sizeof(float);
  kernel.packed_inputs = {1, 2};
  kernel.scratch_bytes = kernels::EncodedRows::size_bytes(x.rows, layer->weights->extents());
  kernel.bind = [layer = std::shared_ptr<const GroupLayer>(std::move(layer)), x,
                 outputs](const Buffers& buffers) -> Call {
    return
        [layer, from = float_matrix(buffers.inputs[0], x), scratch = buffers.scratch,
         to = float_matrix(buffers.output, {x.rows, outputs})] { layer->run(from, scratch, to); };
  };
  return kernel;
}

struct FixedLayer {
  std::shared_ptr<const kernels::FloatMatmulWeights> weights;
  std::vector<float> bias;  ///< [outputs]
  ir::Activation activation;
  OutputShares shares;

  void run(MatrixView<const float> x, MatrixView<float> y) const {
    const auto compute = [&](kernels::BlockRange panels) {
      constexpr std::size_t kOutputs = kernels::FloatPanels::kOutputs;
      const std::size_t first = panels.begin * kOutputs;
      const std::size_t count = std::min(panels.end * kOutputs, bias.size()) - first;
      for (std::size_t r = 0; r < y.rows(); ++r) {
        std::copy_n(bias.begin() + static_cast<std::ptrdiff_t>(first), count,
                    y.row(r).begin() + static_cast<std::ptrdiff_t>(first));
      }
      kernels::float_matmul(x, weights->panels(), panels, y);
    };
    shares.run(compute, activation, y);
  }
};

Verdict judge_fully_connected_fixed(const NodeContext& context) {
  if (auto refusal = refuse_float_layer(context)) return *refusal;
  return accept(std::string(decoded_text(context)) + "sums in the order of the inputs");
}

Kernel create_fully_connected_fixed(const NodeContext& context) {
  const ir::MatrixExtent x = row_extent(context.input(0).shape);
  const auto outputs = static_cast<std::size_t>(context.output().shape.back());
  const double us = speed_of(Product::kFloat, layer_extent(context.graph, context.node)).us;
  const auto weights = context.packed<kernels::FloatMatmulWeights>(1, [&] {
    const ir::Tensor numbers = ir::to_float(*context.constant(1));
    return kernels::FloatMatmulWeights({numbers.as<float>(), outputs, x.cols});
  });
  const auto given = constant_floats(context, 2);
  std::vector<float> bias(given.begin(), given.end());
  bias.resize(outputs, 0.0F);
  const auto layer = std::make_shared<const FixedLayer>(
      FixedLayer{weights, std::move(bias), context.op<ir::FullyConnected>().activation,
                 OutputShares(outputs, kernels::FloatPanels::kOutputs, threads_for(context, us))});
  Kernel kernel;
  kernel.packed_bytes = layer->weights->size_bytes() + outputs * sizeof(float);
  kernel.packed_inputs = {1, 2};
  kernel.bind = [layer, x, outputs](const Buffers& buffers) -> Call {
    return [layer, from = float_matrix(buffers.inputs[0], x),
            to = float_matrix(buffers.output, {x.rows, outputs})] { layer->run(from, to); };
  };
  return with_decoded_input(context, std::move(kernel));
}

}  // namespace

kernels::BitLayout bit_layout(const ir::EncodedTensor& weights) {
  return kernels::preferred_bit_layout(weights.codes.rows, weights.codes.cols);
}

Picoseconds bits_time(const LayerExtent& layer, Core core) {
  const int pairs = layer.input_bits * layer.weight_bits;
  if (core == Core::kAvx512) return {0.6 * pairs, 1.4 * pairs};
  if (core == Core::kAvx512Amd) return {0.4 * pairs, 1.1 * pairs};
  return {0.2 * pairs, 2.9 * pairs};
}

constinit const Implementation kFullyConnectedBits{.name = "xnor_popcount",
                                                   .judge = judge_xnor,
                                                   .create = create_xnor,
                                                   .arithmetic = KernelArithmetic::kBits};

constinit const Implementation kFullyConnectedGroups{.name = "groups",
                                                     .judge = judge_fully_connected_groups,
                                                     .create = create_fully_connected_groups,
                                                     .arithmetic = KernelArithmetic::kGroups};

Picoseconds float_time(const LayerExtent& /*layer*/, Core core) {
  if (core == Core::kAvx512) return {40, 14};
  if (core == Core::kAvx512Amd) return {35, 20};
  return {50, 27};
}

constinit const Implementation kFullyConnectedFixed =
    Implementation::fixed_float(judge_fully_connected_fixed, create_fully_connected_fixed);

}  // namespace halftone::runtime
