// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/linear/linear_cost.h"
#include "halftone/runtime/linear/output_shares.h"
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

}  // namespace halftone::runtime
