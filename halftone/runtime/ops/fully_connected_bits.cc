// SPDX-License-Identifier: Apache-2.0
#include <memory>

#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/output_shares.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Above so many pairs of planes float32 is faster than one popcount pass per pair.
constexpr int kMostPlanePairs = 16;
/// Above so many planes of the input one pass per plane of the weights is faster, over integers.
constexpr int kFewInputPlanes = 2;
/// Dot products up to this length are exact in float32.
constexpr std::size_t kMostInputs = std::size_t{1} << 24;
/// Pairs of 64-bit words from which on a second thread is worth waking: some 50 us of work.
constexpr std::size_t kParallelWords = std::size_t{1} << 20;

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

}  // namespace

Verdict judge_xnor(const NodeContext& context) {
  const ir::Encoding& x = context.input(0).encoding;
  const ir::Encoding& w = context.input(1).encoding;
  if (x.is_dense()) return refuse("the input is not encoded");
  if (w.is_dense()) return refuse("the weights are not encoded");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (w.basis->granularity == numerics::Granularity::kGroup) {
    return refuse("weights have a basis per group of " + std::to_string(w.basis->group_size) +
                  " inputs");
  }
  const std::string bits = std::to_string(x.basis->bits) + "-bit input, " +
                           std::to_string(w.basis->bits) + "-bit weights";
  if (x.basis->bits * w.basis->bits > kMostPlanePairs) {
    return refuse(bits + ": more than " + std::to_string(kMostPlanePairs) + " pairs of planes");
  }
  if (x.basis->bits > kFewInputPlanes && context.int8_activations) {
    return refuse(bits + ": more than " + std::to_string(kFewInputPlanes) +
                  " bits of input are faster as integers of 8");
  }
  if (row_extent(context.input(0).shape).cols > kMostInputs) {
    return refuse("more than " + std::to_string(kMostInputs) + " inputs");
  }
  return accept(bits);
}

Kernel create_xnor(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  kernels::BitMatmulWeights weights(codes.codes, *codes.encoding, constant_floats(context, 2));
  const numerics::Basis& x_basis = context.input(0).encoding.basis->bases.front();
  const std::size_t rows = row_extent(context.input(0).shape).rows;
  const std::size_t work = rows * weights.outputs() * weights.words() * weights.bits() *
                           static_cast<std::size_t>(x_basis.bits);
  const OutputShares shares(weights.outputs(), weights.block_outputs(),
                            work < kParallelWords ? 1 : static_cast<std::size_t>(context.threads));
  const auto layer = std::make_shared<BitLayer>(BitLayer{
      std::move(weights), x_basis, rows, context.op<ir::FullyConnected>().activation, shares});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], y = buffers.output] { layer->run(x, y); };
  };
  return kernel;
}

}  // namespace halftone::runtime
