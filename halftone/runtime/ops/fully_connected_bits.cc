// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>

#include "halftone/base/parallel.h"
#include "halftone/kernels/bit_matmul/bit_matmul.h"
#include "halftone/runtime/activation.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

/// Above so many pairs of planes float32 is faster than one popcount pass per pair.
constexpr int kMostPlanePairs = 16;
/// Dot products up to this length are exact in float32.
constexpr std::size_t kMostInputs = std::size_t{1} << 24;
/// Pairs of 64-bit words from which on a second thread is worth waking: some 50 us of work.
constexpr std::size_t kParallelWords = std::size_t{1} << 20;

/// A layer whose weights are packed.
struct BitLayer {
  kernels::BitMatmulWeights weights;
  numerics::Basis x_basis;
  std::size_t rows = 0;
  ir::Activation activation;
  std::size_t shares = 1;  ///< parts of the outputs, computed in parallel

  /// The part of the outputs that belongs to one share; the same bits whatever the shares.
  void run_share(std::size_t share, const std::byte* x, std::byte* y) const {
    const std::size_t blocks = weights.num_blocks();
    const kernels::BlockRange range{blocks * share / shares, blocks * (share + 1) / shares};
    const MatrixView<float> out = float_matrix(y, {rows, weights.outputs()});
    const std::size_t x_words = rows * static_cast<std::size_t>(x_basis.bits) * weights.words();
    kernels::bit_matmul({reinterpret_cast<const std::uint64_t*>(x), x_words}, x_basis, weights,
                        range, out);
    const std::size_t first = range.begin * weights.block_outputs();
    const std::size_t last = std::min(range.end * weights.block_outputs(), weights.outputs());
    for (std::size_t r = 0; r < rows; ++r) {
      const auto row = out.row(r).subspan(first, last - first);
      apply_activation(activation, row, row);
    }
  }

  void run(const std::byte* x, std::byte* y) const {
    if (shares == 1) return run_share(0, x, y);
    const auto body = [&](std::size_t share) { run_share(share, x, y); };
    parallel_for(shares, std::ref(body));  // a reference, so that nothing is allocated
  }
};

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

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
  if (row_extent(context.input(0).shape).cols > kMostInputs) {
    return refuse("more than " + std::to_string(kMostInputs) + " inputs");
  }
  return accept(bits);
}

Kernel create_xnor(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  const auto layer = std::make_shared<BitLayer>(BitLayer{
      kernels::BitMatmulWeights(codes.codes, *codes.encoding, constant_floats(context, 2)),
      context.input(0).encoding.basis->bases.front(), row_extent(context.input(0).shape).rows,
      context.op<ir::FullyConnected>().activation});
  const std::size_t work = layer->rows * layer->weights.outputs() * layer->weights.words() *
                           layer->weights.bits() * static_cast<std::size_t>(layer->x_basis.bits);
  if (work >= kParallelWords) {
    layer->shares = std::clamp<std::size_t>(layer->weights.num_blocks(), 1,
                                            static_cast<std::size_t>(context.threads));
  }
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], y = buffers.output] { layer->run(x, y); };
  };
  return kernel;
}

}  // namespace halftone::runtime
