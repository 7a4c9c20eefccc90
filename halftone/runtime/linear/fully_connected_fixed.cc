// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <memory>
#include <utility>

#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/runtime/decoded_input.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/linear/linear_cost.h"
#include "halftone/runtime/linear/output_shares.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

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

Picoseconds float_time(const LayerExtent& /*layer*/, Core core) {
  if (core == Core::kAvx512) return {40, 14};
  if (core == Core::kAvx512Amd) return {35, 20};
  return {50, 27};
}

constinit const Implementation kFullyConnectedFixed{.name = "fixed_order_f32",
                                                    .judge = judge_fully_connected_fixed,
                                                    .create = create_fully_connected_fixed,
                                                    .arithmetic = KernelArithmetic::kFixedFloat};

}  // namespace halftone::runtime
