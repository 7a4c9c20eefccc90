// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <functional>
#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/runtime/convolution/convolution.h"
#include "halftone/runtime/convolution/convolution_codes.h"

namespace halftone::runtime {
namespace {

using kernels::ConvShape;
using kernels::TapRange;

/// Number of channels whose sums stay in a near cache.
constexpr std::size_t kPoolChannels = 64;

struct PoolWindows {
  ConvShape shape;
  bool is_max = true;
  bool counts_padding = false;

  void run(const float* x, float* y, std::size_t line) const {
    const auto& [az, ay, ax] = shape.axes;
    const kernels::ConvLine at = kernels::line_at(shape, line);
    const std::array<TapRange, 2> outer = {az.inside(at.z), ay.inside(at.y)};
    const float* image = x + at.image * shape.image_input_pixels() * shape.channels;
    float* out = y + line * ax.output * shape.channels;
    for (std::size_t p = 0; p < ax.output; ++p) {
      const std::array<std::size_t, 3> position = {at.z, at.y, p};
      const std::array<TapRange, 3> taps = {outer[0], outer[1], ax.inside(p)};
      for (std::size_t c = 0; c < shape.channels; c += kPoolChannels) {
        const std::size_t count = std::min(kPoolChannels, shape.channels - c);
        if (is_max) {
          find_largest(image + c, position, taps, {out + c, count});
        } else {
          find_mean(image + c, position, taps, {out + c, count});
        }
      }
      out += shape.channels;
    }
  }

 private:
  using Taps = std::array<TapRange, 3>;
  using Position = std::array<std::size_t, 3>;

  /// Calls visit(first channel) for the pixels of a window inside the image, in order.
  template <typename Visit>
  void for_each_pixel(const float* image, const Position& position, const Taps& taps,
                      const Visit& visit) const {
    const auto input = [&](std::size_t axis, std::size_t tap) {
      const kernels::ConvAxis& a = shape.axes[axis];
      return position[axis] * a.stride + tap * a.dilation - a.pad_before;
    };
    for (std::size_t i = taps[0].begin; i < taps[0].end; ++i) {
      for (std::size_t j = taps[1].begin; j < taps[1].end; ++j) {
        const std::size_t row = input(0, i) * shape.axes[1].input + input(1, j);
        for (std::size_t k = taps[2].begin; k < taps[2].end; ++k) {
          visit(image + (row * shape.axes[2].input + input(2, k)) * shape.channels);
        }
      }
    }
  }

  void find_largest(const float* image, const Position& position, const Taps& taps,
                    std::span<float> y) const {
    std::array<float, kPoolChannels> largest;
    std::fill_n(largest.begin(), y.size(), -std::numeric_limits<float>::infinity());
    for_each_pixel(image, position, taps, [&](const float* x) {
      for (std::size_t c = 0; c < y.size(); ++c) largest[c] = std::max(largest[c], x[c]);
    });
    std::copy_n(largest.begin(), y.size(), y.begin());
  }

  void find_mean(const float* image, const Position& position, const Taps& taps,
                 std::span<float> y) const {
    std::array<double, kPoolChannels> sums{};
    for_each_pixel(image, position, taps, [&](const float* x) {
      for (std::size_t c = 0; c < y.size(); ++c) sums[c] += static_cast<double>(x[c]);
    });
    std::size_t counted = shape.taps();
    if (!counts_padding) {
      counted = 1;
      for (const TapRange& range : taps) counted *= range.end - range.begin;
    }
    const auto divisor = static_cast<double>(std::max<std::size_t>(counted, 1));
    for (std::size_t c = 0; c < y.size(); ++c) y[c] = static_cast<float>(sums[c] / divisor);
  }
};

/// @pre one to three spatial axes
PoolWindows pool_windows(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  const ir::Shape& x = context.input(0).shape;
  PoolWindows windows{{}, op.kind == ir::PoolKind::kMax, op.count_padding};
  ConvShape& shape = windows.shape;
  shape.images = static_cast<std::size_t>(x[0]);
  shape.channels = shape.outputs = shape.groups = static_cast<std::size_t>(x.back());
  shape.axes = conv_axes(op.window, op.kernel, x, context.output().shape);
  return windows;
}

Verdict judge_pool_fixed(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  if (!context.input(0).is_dense(ir::ElementType::kFloat32))
    return refuse("the input is not float32");
  if (auto refusal = refuse_fixed_order(context)) return *refusal;
  if (context.input(0).shape.rank() > 5) return refuse("more than three spatial axes");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  const auto extents = ir::spatial_extents(context.input(0).shape);
  if (op.count_padding && ir::window_counts(op.window, extents, op.kernel) !=
                              ir::window_counts(op.window, extents, op.kernel, op.round_up)) {
    return refuse("the last window is cut off");
  }
  return accept("sums in the order of taps");
}

Kernel create_pool_fixed(const NodeContext& context) {
  const std::size_t shares = context.input(0).shape.element_count() < kParallelNumbers
                                 ? 1
                                 : static_cast<std::size_t>(context.threads);
  Kernel kernel;
  kernel.bind = [windows = pool_windows(context), shares](const Buffers& buffers) -> Call {
    const auto* x = reinterpret_cast<const float*>(buffers.inputs[0]);
    auto* y = reinterpret_cast<float*>(buffers.output);
    return [windows, shares, x, y] {
      const std::size_t lines = windows.shape.num_lines();
      const auto body = [&](std::size_t share) {
        const std::size_t end = lines * (share + 1) / shares;
        for (std::size_t l = lines * share / shares; l < end; ++l) windows.run(x, y, l);
      };
      if (shares == 1) return body(0);
      parallel_for(shares, std::ref(body));  // by reference: allocates nothing
    };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kPoolFixed{
    .name = "fixed_order_f32", .judge = judge_pool_fixed, .create = create_pool_fixed};

}  // namespace halftone::runtime
