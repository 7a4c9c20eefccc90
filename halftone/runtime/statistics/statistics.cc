// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/statistics/statistics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>

#include "halftone/base/parallel.h"

namespace halftone::runtime {
namespace {

using ir::ReduceKind;

/// Number of columns summed together, and of partial sums per row.
constexpr std::size_t kLanes = 16;

template <typename Body>
void for_shares(std::size_t count, std::size_t shares, const Body& body) {
  if (shares <= 1) return body(0, count);
  const auto share = [&](std::size_t i) { body(count * i / shares, count * (i + 1) / shares); };
  parallel_for(shares, std::ref(share));
}

/// A block of columns, reduced separately so that partial sums stay in registers.
struct Block {
  std::size_t begin = 0;  ///< of the first element
  std::size_t width = 0;  ///< columns, at most kLanes
  std::size_t step = 0;   ///< between rows
  std::size_t rows = 0;
};

/// Block i of a view. With one column, its rows are cut into kLanes adjacent lines.
Block block_of(const ir::AxisView& view, std::size_t i) {
  const std::size_t per_outer = (view.inner + kLanes - 1) / kLanes;
  const std::size_t first = i % per_outer * kLanes;
  return {i / per_outer * view.extent * view.inner + first, std::min(kLanes, view.inner - first),
          view.inner, view.extent};
}

std::size_t num_blocks(const ir::AxisView& view) {
  return view.outer * ((view.inner + kLanes - 1) / kLanes);
}

using Lanes = std::array<double, kLanes>;

/// lanes[c] = sum over rows of term(x, c), in the order of the rows. A single column is summed in
/// kLanes partial sums, which are combined at the end.
template <typename Term>
void sum_block(const float* x, const Block& block, Lanes& lanes, Term term) {
  lanes.fill(0);
  if (block.step == 1) {
    std::size_t row = 0;
    for (; row + kLanes <= block.rows; row += kLanes) {
      for (std::size_t c = 0; c < kLanes; ++c) lanes[c] += term(x[block.begin + row + c], 0);
    }
    for (std::size_t c = 0; row < block.rows; ++row, ++c) {
      lanes[c] += term(x[block.begin + row], 0);
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t c = 0; c < half; ++c) lanes[c] += lanes[c + half];
    }
    return;
  }
  for (std::size_t row = 0; row < block.rows; ++row) {
    const float* line = x + block.begin + row * block.step;
    if (block.width == kLanes) {
      for (std::size_t c = 0; c < kLanes; ++c) lanes[c] += term(line[c], c);
    } else {
      for (std::size_t c = 0; c < block.width; ++c) lanes[c] += term(line[c], c);
    }
  }
}

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
    return extreme_block(x, block, -kInfinity, y, [](float a, float b) { return std::max(a, b); });
  }
  if (kind == ReduceKind::kMin) {
    return extreme_block(x, block, kInfinity, y, [](float a, float b) { return std::min(a, b); });
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

std::size_t shares_of(const ir::AxisView& view, int threads) {
  const std::size_t count = view.outer * view.extent * view.inner;
  const std::size_t max_shares = count < kParallelNumbers ? 1 : static_cast<std::size_t>(threads);
  return std::min(max_shares, num_blocks(view));
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
  const std::size_t shares = shares_of(view, context.threads);
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

Verdict judge_normalize(const NodeContext& context) {
  if (!joined_axes(context.input(0).shape, context.op<ir::Normalize>().axes)) {
    return refuse("the axes are not adjacent");
  }
  return accept("over adjacent axes");
}

Kernel create_normalize(const NodeContext& context) {
  const auto op = context.op<ir::Normalize>();
  const ir::AxisView view = *joined_axes(context.input(0).shape, op.axes);
  const std::size_t shares = shares_of(view, context.threads);
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

constinit const Implementation kReduceFloats{
    .name = "joined_axes_f32", .judge = judge_reduce, .create = create_reduce};
constinit const Implementation kNormalizeFloats{
    .name = "joined_axes_f32", .judge = judge_normalize, .create = create_normalize};

}  // namespace halftone::runtime
