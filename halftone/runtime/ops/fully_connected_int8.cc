// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <optional>

#include "halftone/base/bits.h"
#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/quantize_rows.h"
#include "halftone/runtime/ops/linear.h"
#include "halftone/runtime/ops/output_shares.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

using kernels::LevelMatmulWeights;
using kernels::PlaneMatmulWeights;

/// A pass over a plane takes about half as long as one over levels, of which several rows share
/// the time it takes to read them.
constexpr std::size_t kFewPlanes = 2;
constexpr std::size_t kFewRows = 3;
/// Products from which on a second thread is worth waking: some 50 us of work.
constexpr std::size_t kParallelProducts = std::size_t{1} << 23;

void multiply(const kernels::Int8Rows& x, const PlaneMatmulWeights& w, kernels::BlockRange blocks,
              MatrixView<float> y) {
  kernels::plane_matmul(x, w, blocks, y);
}
void multiply(const kernels::Int8Rows& x, const LevelMatmulWeights& w, kernels::BlockRange blocks,
              MatrixView<float> y) {
  kernels::level_matmul(x, w, blocks, y);
}

/// How codes are turned into 8-bit integers.
struct Codes {
  int bits;
  kernels::Int8Levels levels;
};

/// A layer whose weights are packed.
template <typename Weights>
struct Int8Layer {
  Weights weights;
  std::size_t rows;
  std::optional<Codes> codes;  ///< what the input is; nothing: float32
  ir::Activation activation;
  OutputShares shares;

  /// Scratch: scales [rows], then quantized activations [rows, n].
  [[nodiscard]] std::size_t scratch_bytes() const {
    return rows * (sizeof(float) + weights.inputs());
  }

  void run(const std::byte* x, std::byte* scratch, std::byte* y) const {
    const std::span scales(reinterpret_cast<float*>(scratch), rows);
    const MatrixView<std::int8_t> q(reinterpret_cast<std::int8_t*>(scratch + scales.size_bytes()),
                                    rows, weights.inputs(), weights.inputs());
    if (codes) {
      const std::size_t words =
          words_for_bits(weights.inputs()) * static_cast<std::size_t>(codes->bits);
      kernels::decode_int8({reinterpret_cast<const std::uint64_t*>(x), rows * words}, codes->bits,
                           codes->levels, q);
      std::fill(scales.begin(), scales.end(), codes->levels.scale);
    } else {
      kernels::quantize_rows(float_matrix(x, {rows, weights.inputs()}), q, scales);
    }
    const float offset = codes ? codes->levels.offset : 0;
    const MatrixView<float> out = float_matrix(y, {rows, weights.outputs()});
    const auto compute = [&](kernels::BlockRange blocks) {
      multiply({q, scales, offset}, weights, blocks, out);
    };
    shares.run(compute, activation, out);
  }
};

template <typename Weights>
Kernel create(const NodeContext& context) {
  const auto& codes = std::get<ir::EncodedTensor>(*context.constant(1));
  Weights weights(codes.codes, *codes.encoding, constant_floats(context, 2));
  const std::size_t rows = row_extent(context.input(0).shape).rows;
  const std::size_t products = rows * weights.outputs() * weights.inputs();
  const OutputShares shares(
      weights.outputs(), Weights::kBlock,
      products < kParallelProducts ? 1 : static_cast<std::size_t>(context.threads));
  std::optional<Codes> codes_of_x;
  if (const ir::Encoding& x = context.input(0).encoding; !x.is_dense()) {
    codes_of_x = Codes{x.basis->bits, kernels::Int8Levels(x.basis->bases.front())};
  }
  const auto layer = std::make_shared<Int8Layer<Weights>>(Int8Layer<Weights>{
      std::move(weights), rows, codes_of_x, context.op<ir::FullyConnected>().activation, shares});
  Kernel kernel;
  kernel.packed_bytes = layer->weights.size_bytes();
  kernel.scratch_bytes = layer->scratch_bytes();
  kernel.bind = [layer](const Buffers& buffers) -> Call {
    return [layer, x = buffers.inputs[0], scratch = buffers.scratch, y = buffers.output] {
      layer->run(x, scratch, y);
    };
  };
  return kernel;
}

/// What both ways need.
std::optional<Verdict> refuse_int8(const NodeContext& context, std::size_t most_inputs) {
  if (context.input(1).encoding.is_dense()) return refuse("the weights are not encoded");
  if (context.constant(1) == nullptr) return refuse("the weights are not constant");
  if (context.has_input(2) && context.constant(2) == nullptr) {
    return refuse("the bias is not constant");
  }
  if (!context.int8_activations) return refuse("activations are not to be rounded");
  if (row_extent(context.input(0).shape).cols > most_inputs) {
    return refuse("more than " + std::to_string(most_inputs) + " inputs");
  }
  return std::nullopt;
}

std::string rows_and_bits(std::size_t rows, std::size_t bits) {
  return std::to_string(rows) + (rows == 1 ? " row, " : " rows, ") + std::to_string(bits) +
         "-bit weights";
}

}  // namespace

std::span<const float> constant_floats(const NodeContext& context, std::size_t input) {
  const ir::Constant* constant = context.constant(input);
  if (constant == nullptr) return {};
  return std::get<ir::Tensor>(*constant).as<float>();
}

Verdict judge_int8_planes(const NodeContext& context) {
  if (const auto refusal = refuse_int8(context, PlaneMatmulWeights::kMostInputs)) return *refusal;
  const std::size_t rows = row_extent(context.input(0).shape).rows;
  const auto bits = static_cast<std::size_t>(context.input(1).encoding.basis->bits);
  const std::string found = rows_and_bits(rows, bits);
  if (rows > kFewRows && bits > kFewPlanes) {
    return refuse(found + ": more than " + std::to_string(kFewRows) + " rows and " +
                  std::to_string(kFewPlanes) + " bits");
  }
  return accept(found);
}

Kernel create_int8_planes(const NodeContext& context) {
  return create<PlaneMatmulWeights>(context);
}

Verdict judge_int8_levels(const NodeContext& context) {
  if (const auto refusal = refuse_int8(context, LevelMatmulWeights::kMostInputs)) return *refusal;
  return accept(rows_and_bits(row_extent(context.input(0).shape).rows,
                              static_cast<std::size_t>(context.input(1).encoding.basis->bits)));
}

Kernel create_int8_levels(const NodeContext& context) {
  return create<LevelMatmulWeights>(context);
}

}  // namespace halftone::runtime
