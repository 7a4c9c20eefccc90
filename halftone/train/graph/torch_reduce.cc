// SPDX-License-Identifier: Apache-2.0
// Reductions, and operators that normalise by them.
#include <ATen/ATen.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Dims = std::vector<std::int64_t>;
using ir::ReduceKind;

/// A tensor and the axes of a reduction. libtorch takes an empty list for all axes, so an
/// additional axis of extent 1 replaces it.
struct OverAxes {
  at::Tensor x;
  Dims axes;

  OverAxes(const at::Tensor& all, std::span<const std::size_t> over)
      : x(over.empty() ? all.unsqueeze(-1) : all), axes(over.begin(), over.end()) {
    if (axes.empty()) axes.push_back(x.dim() - 1);
  }
};

/// The maximum or minimum; of no elements, an infinity.
at::Tensor extreme(const OverAxes& over, bool largest, bool keep) {
  if (over.x.numel() == 0) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    return over.x.sum(over.axes, keep).fill_(largest ? -kInfinity : kInfinity);
  }
  return largest ? over.x.amax(over.axes, keep) : over.x.amin(over.axes, keep);
}

at::Tensor product(const OverAxes& over, bool keep) {
  at::Tensor y = over.x;
  for (std::size_t i = over.axes.size(); i-- > 0;) y = y.prod(over.axes[i], keep);
  return y;
}

at::Tensor statistic(ReduceKind kind, const OverAxes& over, bool keep) {
  switch (kind) {
    case ReduceKind::kSum:
      return over.x.sum(over.axes, keep);
    case ReduceKind::kMean:
      return over.x.mean(over.axes, keep);
    case ReduceKind::kMax:
    case ReduceKind::kMin:
      return extreme(over, kind == ReduceKind::kMax, keep);
    case ReduceKind::kProd:
      return product(over, keep);
    case ReduceKind::kL1:
      return over.x.abs().sum(over.axes, keep);
    case ReduceKind::kL2:
      return at::linalg_vector_norm(over.x, 2, over.axes, keep);
    case ReduceKind::kSumSquare:
      return over.x.square().sum(over.axes, keep);
    case ReduceKind::kLogSum:
      return over.x.sum(over.axes, keep).log();
    case ReduceKind::kLogSumExp:
      return over.x.logsumexp(over.axes, keep);
  }
  fail(ErrorKind::kInternal, "unknown kind of reduction");
}

at::Tensor compute(const ir::Reduce& op, const TorchInputs& in) {
  const bool keep = op.keep_dims && !op.axes.empty();
  return statistic(op.kind, OverAxes(in[0], op.axes), keep);
}

at::Tensor compute(const ir::CumSum& op, const TorchInputs& in) {
  const auto axis = static_cast<std::int64_t>(op.axis);
  const std::int64_t extent = in[0].size(axis);
  at::Tensor y = op.reverse ? in[0].flip(axis) : in[0];
  if (op.exclusive && extent > 0) {
    y = at::cat({at::zeros_like(y.narrow(axis, 0, 1)), y.narrow(axis, 0, extent - 1)}, axis);
  }
  y = y.cumsum(axis);
  return op.reverse ? y.flip(axis) : y;
}

at::Tensor compute(const ir::Softmax& op, const TorchInputs& in) {
  const auto axis = static_cast<std::int64_t>(op.axis);
  const at::Tensor x = op.beta == 1 ? in[0] : in[0] * wide(op.beta);
  return op.log ? at::log_softmax(x, axis) : at::softmax(x, axis);
}

at::Tensor compute(const ir::Normalize& op, const TorchInputs& in) {
  const OverAxes over(in[0], op.axes);
  const at::Tensor centred = op.subtract_mean ? over.x - over.x.mean(over.axes, true) : over.x;
  const at::Tensor variance = centred.square().mean(over.axes, true);
  const at::Tensor y = centred / (variance + wide(op.epsilon)).sqrt();
  return op.axes.empty() ? y.squeeze(-1) : y;
}

/// The sum over neighbours is a sum of slices of the padded squares.
at::Tensor compute(const ir::LocalNormalize& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const auto axis = static_cast<std::int64_t>(op.axis);
  const std::int64_t extent = x.size(axis);
  // Neighbours beyond the extent do not exist.
  const auto before = std::min(static_cast<std::int64_t>(op.before), extent);
  const auto after = std::min(static_cast<std::int64_t>(op.after), extent);
  Dims padding(2 * static_cast<std::size_t>(x.dim() - axis), 0);
  padding[padding.size() - 2] = before;
  padding[padding.size() - 1] = after;
  const at::Tensor squares = at::constant_pad_nd(x.square(), padding);
  at::Tensor sum = squares.narrow(axis, 0, extent);
  for (std::int64_t k = 1; k <= before + after; ++k) sum = sum + squares.narrow(axis, k, extent);
  return x / (sum * wide(op.alpha) + wide(op.bias)).pow(wide(op.beta));
}

constexpr TorchEntry kReduceFunctions[] = {
    torch_entry<ir::Reduce, compute>(),         torch_entry<ir::CumSum, compute>(),
    torch_entry<ir::Softmax, compute>(),        torch_entry<ir::Normalize, compute>(),
    torch_entry<ir::LocalNormalize, compute>(),
};

}  // namespace

std::span<const TorchEntry> reduce_functions() { return kReduceFunctions; }

}  // namespace halftone::train
