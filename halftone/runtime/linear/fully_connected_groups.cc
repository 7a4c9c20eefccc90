// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <utility>

#include "halftone/kernels/groups/multiply_groups.h"
#include "halftone/runtime/elementwise/activation.h"
#include "halftone/runtime/linear/group_weights.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/shares.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {
namespace {

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

}  // namespace

constinit const Implementation kFullyConnectedGroups{.name = "groups",
                                                     .judge = judge_fully_connected_groups,
                                                     .create = create_fully_connected_groups,
                                                     .arithmetic = KernelArithmetic::kGroups};

}  // namespace halftone::runtime
