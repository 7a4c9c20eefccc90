// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/statistics/statistics.h"

#include <algorithm>
#include <cmath>

namespace halftone::runtime {
namespace {

void normalize_block(const ir::Normalize& op, const float* x, const Block& block, float* y) {
  const auto count = static_cast<double>(block.rows);
  Lanes means{};
  if (op.subtract_mean) {
    sum_block(x, block, means, [](float v, std::size_t) { return static_cast<double>(v); });
    for (double& mean : means) mean /= count;
  }
  Lanes variances;
  sum_block(x, block, variances, [&](float v, std::size_t c) {
    const double centred = static_cast<double>(v) - means[c];
    return centred * centred;
  });
  Lanes factors{};
  for (std::size_t c = 0; c < block.width; ++c) {
    factors[c] = 1 / std::sqrt(variances[c] / count + static_cast<double>(op.epsilon));
  }
  const auto normalized = [](float v, double mean, double factor) {
    return static_cast<float>((static_cast<double>(v) - mean) * factor);
  };
  if (block.step == 1) {
    const double mean = means[0];
    const double factor = factors[0];
    for (std::size_t at = block.begin; at < block.begin + block.rows; ++at) {
      y[at] = normalized(x[at], mean, factor);
    }
    return;
  }
  for (std::size_t row = 0; row < block.rows; ++row) {
    const std::size_t at = block.begin + row * block.step;
    for (std::size_t c = 0; c < block.width; ++c) {
      y[at + c] = normalized(x[at + c], means[c], factors[c]);
    }
  }
}

Verdict judge_normalize(const NodeContext& context) {
  if (!joined_axes(context.input(0).shape, context.op<ir::Normalize>().axes)) {
    return refuse("the axes are not adjacent");
  }
  return accept("over adjacent axes");
}

Kernel create_normalize(const NodeContext& context) {
  const auto op = context.op<ir::Normalize>();
  const ir::AxisView view = *joined_axes(context.input(0).shape, op.axes);
  const std::size_t shares = block_shares(view, context.threads);
  Kernel kernel;
  kernel.bind = [op, view, shares](const Buffers& buffers) -> Call {
    const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
    auto* y = reinterpret_cast<float*>(buffers.output);
    return [=] {
      for_shares(num_blocks(view), shares, [&](std::size_t first, std::size_t last) {
        for (std::size_t i = first; i < last; ++i) normalize_block(op, x, block_of(view, i), y);
      });
    };
  };
  return kernel;
}

}  // namespace

Block block_of(const ir::AxisView& view, std::size_t i) {
  const std::size_t per_outer = (view.inner + kLanes - 1) / kLanes;
  const std::size_t first = i % per_outer * kLanes;
  return {i / per_outer * view.extent * view.inner + first, std::min(kLanes, view.inner - first),
          view.inner, view.extent};
}

std::size_t num_blocks(const ir::AxisView& view) {
  return view.outer * ((view.inner + kLanes - 1) / kLanes);
}

std::size_t block_shares(const ir::AxisView& view, int threads) {
  const std::size_t count = view.outer * view.extent * view.inner;
  const std::size_t max_shares = count < kParallelNumbers ? 1 : static_cast<std::size_t>(threads);
  return std::min(max_shares, num_blocks(view));
}

std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes) {
  ir::AxisView view;
  bool seen = false;
  bool over = false;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[i]);
    if (std::ranges::binary_search(axes, i)) {
      if (over && extent != 1) return std::nullopt;
      view.extent *= extent;
      seen = true;
    } else if (!seen) {
      view.outer *= extent;
    } else if (extent != 1) {
      view.inner *= extent;
      over = true;
    }
  }
  return view;
}

constinit const Implementation kNormalizeFloats{
    .name = "joined_axes_f32", .judge = judge_normalize, .create = create_normalize};

}  // namespace halftone::runtime
