// SPDX-License-Identifier: Apache-2.0
// Pooling.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Dims = std::vector<std::int64_t>;

/// How a window slides along one axis.
struct AxisWindow {
  std::int64_t extent = 0;  ///< of the input
  std::int64_t count = 0;   ///< of the output
  std::int64_t kernel = 0;
  std::int64_t stride = 0;
  std::int64_t dilation = 0;
  std::int64_t before = 0;
  std::int64_t after = 0;

  /// Number of elements past the input that the last window covers; negative if it ends earlier.
  [[nodiscard]] std::int64_t missing() const {
    return (count - 1) * stride + ir::covered(kernel, dilation) - extent - before;
  }

  /// The divisor of the mean at output p along this axis.
  [[nodiscard]] std::int64_t counted(std::int64_t p, bool count_padding) const {
    std::int64_t result = 0;
    for (std::int64_t k = 0; k < kernel; ++k) {
      const std::int64_t at = p * stride + k * dilation - before;
      const bool is_inside = at >= 0 && at < extent;
      const bool is_padding = count_padding && at < extent + after;
      if (is_inside || is_padding) ++result;
    }
    return result;
  }
};

std::vector<AxisWindow> axis_windows(const ir::Pool& op, const at::Tensor& x) {
  const auto extents = x.sizes().slice(1, op.kernel.size());
  const std::vector<ir::Dim> counts = ir::window_counts(
      op.window, std::span<const ir::Dim>(extents.data(), extents.size()), op.kernel, op.round_up);
  std::vector<AxisWindow> axes;
  for (std::size_t i = 0; i < op.kernel.size(); ++i) {
    axes.push_back({extents[i], counts[i], op.kernel[i], op.window.strides[i],
                    op.window.dilations[i], op.window.pads_before[i], op.window.pads_after[i]});
  }
  return axes;
}

/// Pads or crops the image to the extent that the windows cover; pads with `value`.
at::Tensor padded(const at::Tensor& x, const std::vector<AxisWindow>& axes, double value) {
  Dims list{0, 0};  // the channels come last
  for (std::size_t i = axes.size(); i-- > 0;) {
    list.insert(list.end(), {axes[i].before, axes[i].missing()});
  }
  if (std::ranges::count(list, 0) == static_cast<std::ptrdiff_t>(list.size())) return x;
  return at::constant_pad_nd(x, list, value);
}

at::Tensor largest(const ir::Pool& op, const at::Tensor& image,
                   const std::vector<AxisWindow>& axes) {
  const at::Tensor x = padded(image, axes, -std::numeric_limits<double>::infinity()).movedim(-1, 1);
  const auto& [strides, dilations, before, after] = op.window;
  if (axes.size() == 3) {
    return at::max_pool3d(x, op.kernel, strides, 0, dilations).movedim(1, -1);
  }
  if (axes.size() == 2) {
    return at::max_pool2d(x, op.kernel, strides, 0, dilations).movedim(1, -1);
  }
  const at::Tensor rows =
      at::max_pool2d(x.unsqueeze(2), {1, op.kernel[0]}, {1, strides[0]}, 0, {1, dilations[0]});
  return rows.squeeze(2).movedim(1, -1);
}

/// Sums along one axis after the other, as a sum of one slice per tap: libtorch's average pooling
/// supports neither dilation nor asymmetric padding.
at::Tensor mean(const ir::Pool& op, const at::Tensor& image, const std::vector<AxisWindow>& axes) {
  at::Tensor sum = padded(image, axes, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const AxisWindow& axis = axes[i];
    const auto dim = static_cast<std::int64_t>(i) + 1;
    at::Tensor along;
    for (std::int64_t k = 0; k < axis.kernel; ++k) {
      const std::int64_t first = k * axis.dilation;
      const std::int64_t last = first + (axis.count - 1) * axis.stride;
      const at::Tensor tap = sum.slice(dim, first, last + 1, axis.stride);
      along = k == 0 ? tap : along + tap;
    }
    Dims view(axes.size() + 2, 1);
    view[static_cast<std::size_t>(dim)] = axis.count;
    at::Tensor divisors = at::empty({axis.count}, at::kDouble);
    for (std::int64_t p = 0; p < axis.count; ++p) {
      divisors.data_ptr<double>()[p] =
          static_cast<double>(std::max<std::int64_t>(axis.counted(p, op.count_padding), 1));
    }
    sum = along / divisors.to(image.options()).reshape(view);
  }
  return sum;
}

/// libtorch's max pooling has up to three axes; means are computed from slices.
bool is_known(const ir::Pool& op) {
  return op.kind == ir::PoolKind::kAverage || op.kernel.size() <= 3;
}

at::Tensor compute(const ir::Pool& op, const TorchInputs& in) {
  const std::vector<AxisWindow> axes = axis_windows(op, in[0]);
  return op.kind == ir::PoolKind::kMax ? largest(op, in[0], axes) : mean(op, in[0], axes);
}

constexpr TorchEntry kPoolFunctions[] = {
    torch_entry<ir::Pool, compute, is_known>(),
};

}  // namespace

std::span<const TorchEntry> pool_functions() { return kPoolFunctions; }

}  // namespace halftone::train
