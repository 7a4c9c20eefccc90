// SPDX-License-Identifier: Apache-2.0
// Sums, means, extrema and norms over adjacent axes.
#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/elementary.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

using ir::ReduceKind;

/// The maximum or minimum of each column; for a single column, in kLanes lines.
template <typename Better>
void extreme_block(const float* x, const Block& block, float start, float* y, Better better) {
  std::array<float, kLanes> lanes;
  lanes.fill(start);
  if (block.step == 1) {
    std::size_t row = 0;
    for (; row + kLanes <= block.rows; row += kLanes) {
      const float* line = x + block.begin + row;
      for (std::size_t c = 0; c < kLanes; ++c) lanes[c] = better(lanes[c], line[c]);
    }
    for (; row < block.rows; ++row) lanes[0] = better(lanes[0], x[block.begin + row]);
    for (std::size_t c = 1; c < kLanes; ++c) lanes[0] = better(lanes[0], lanes[c]);
    *y = lanes[0];
    return;
  }
  for (std::size_t row = 0; row < block.rows; ++row) {
    const float* line = x + block.begin + row * block.step;
    for (std::size_t c = 0; c < block.width; ++c) lanes[c] = better(lanes[c], line[c]);
  }
  std::copy_n(lanes.begin(), block.width, y);
}

double finished(ReduceKind kind, double sum, double count) {
  if (kind == ReduceKind::kMean) return sum / count;
  return kind == ReduceKind::kL2 ? std::sqrt(sum) : sum;
}

void reduce_block(ReduceKind kind, const float* x, const Block& block, float* y) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  if (kind == ReduceKind::kMax) {
    return extreme_block(x, block, -kInfinity, y,
                         [](float a, float b) { return elementary::larger(a, b); });
  }
  if (kind == ReduceKind::kMin) {
    return extreme_block(x, block, kInfinity, y,
                         [](float a, float b) { return elementary::smaller(a, b); });
  }
  Lanes lanes;
  if (kind == ReduceKind::kL1) {
    sum_block(x, block, lanes,
              [](float v, std::size_t) { return std::abs(static_cast<double>(v)); });
  } else if (kind == ReduceKind::kL2 || kind == ReduceKind::kSumSquare) {
    sum_block(x, block, lanes,
              [](float v, std::size_t) { return static_cast<double>(v) * static_cast<double>(v); });
  } else {
    sum_block(x, block, lanes, [](float v, std::size_t) { return static_cast<double>(v); });
  }
  for (std::size_t c = 0; c < block.width; ++c) {
    y[c] = static_cast<float>(finished(kind, lanes[c], static_cast<double>(block.rows)));
  }
}

Verdict judge_reduce(const NodeContext& context) {
  const auto& op = context.op<ir::Reduce>();
  if (!context.input(0).is_dense(ir::ElementType::kFloat32))
    return refuse("the input is not float32");
  if (op.kind == ReduceKind::kProd || op.kind == ReduceKind::kLogSum ||
      op.kind == ReduceKind::kLogSumExp) {
    return refuse("it is not a sum, mean, extremum or norm");
  }
  if (!joined_axes(context.input(0).shape, op.axes)) return refuse("the axes are not adjacent");
  return accept("over adjacent axes");
}

Kernel create_reduce(const NodeContext& context) {
  const auto& op = context.op<ir::Reduce>();
  const ir::AxisView view = *joined_axes(context.input(0).shape, op.axes);
  const std::size_t shares = block_shares(view, context.threads);
  Kernel kernel;
  kernel.bind = [kind = op.kind, view, shares](const Buffers& buffers) -> Call {
    const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
    auto* y = reinterpret_cast<float*>(buffers.output);
    return [=] {
      for_shares(num_blocks(view), shares, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) {
          const std::size_t per_outer = (view.inner + kLanes - 1) / kLanes;
          reduce_block(kind, x, block_of(view, i),
                       y + i / per_outer * view.inner + i % per_outer * kLanes);
        }
      });
    };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kReduceFloats{
    .name = "joined_axes_f32", .judge = judge_reduce, .create = create_reduce};

}  // namespace halftone::runtime
