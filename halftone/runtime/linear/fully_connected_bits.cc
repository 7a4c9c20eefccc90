// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/linear/linear_cost.h"
#include "halftone/runtime/linear/output_shares.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Dot products up to this length are exact in float32.
constexpr std::size_t kMaxInputs = std::size_t{1} << 24;

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
std::string bits_text(const ir::Encoding& x, const ir::Encoding& w) {
  return std::to_string(x.basis->bits) + "-bit input, " + std::to_string(w.basis->bits) +
         "-bit weights";
}

Verdict judge_xnor(const NodeContext& context) {
  const ir::Encoding& x = context.input(0).encoding;
  const ir::Encoding& w = context.input(1).encoding;
  if (x.is_dense()) return refuse("the input is not encoded");
  if (auto reason = why_not_packed(context)) return refuse(std::move(*reason));
  if (auto reason = why_not_bits(*x.basis, *w.basis)) return refuse(std::move(*reason));
  if (row_extent(context.input(0).shape).cols > kMaxInputs) {
    return refuse("more than " + std::to_string(kMaxInputs) + " inputs");
  }
  const LayerExtent layer = layer_extent(context.graph, context.node);
  if (const int pairs = layer.bit_pairs(); !computes_bits(pairs, context.int8_activations)) {
    return refuse(too_many_pairs(pairs));
  }
  return accept(bits_text(x, w), speed_of(Product::kBits, layer));
}

Kernel create_xnor(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  kernels::BitMatmulWeights weights(codes.codes, *codes.encoding, constant_floats(context, 2));
  const numerics::Basis x_basis = context.input(0).encoding.basis->basis(0);
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

Picoseconds bits_time(const LayerExtent& layer, Core core) {
  const int pairs = layer.input_bits * layer.weight_bits;
  if (core == Core::kAvx512) return {0.6 * pairs, 1.4 * pairs};
  if (core == Core::kAvx512Amd) return {0.4 * pairs, 1.1 * pairs};
  return {0.2 * pairs, 2.9 * pairs};
}

constinit const Implementation kFullyConnectedBits{.name = "xnor_popcount",
                                                   .judge = judge_xnor,
                                                   .create = create_xnor,
                                                   .arithmetic = Arithmetic::kBits};

}  // namespace halftone::runtime
