// SPDX-License-Identifier: Apache-2.0
// Sums, means and extrema of integers.
#include <algorithm>
#include <limits>
#include <memory>
#include <vector>

#include "halftone/runtime/integer/integer.h"
#include "halftone/runtime/statistics/statistics.h"

namespace halftone::runtime {
namespace {

/// The windows of a sample.
struct Windows {
  std::size_t samples = 1;
  std::size_t positions = 1;  ///< of a sample
  std::size_t channels = 1;
  std::vector<std::vector<ir::Tap>> taps;  ///< by output position
};

Windows windows_of(const NodeContext& context) {
  const auto& op = context.op<ir::Pool>();
  const ir::Shape& x = context.input(0).shape;
  const auto extents = ir::spatial_extents(x);
  const auto counts = ir::spatial_extents(context.output().shape);
  Windows windows;
  windows.samples = static_cast<std::size_t>(x[0]);
  windows.channels = static_cast<std::size_t>(x.back());
  for (const ir::Dim extent : extents) windows.positions *= static_cast<std::size_t>(extent);
  std::size_t outputs = 1;
  for (const ir::Dim count : counts) outputs *= static_cast<std::size_t>(count);
  windows.taps.resize(outputs);
  for (std::size_t p = 0; p < outputs; ++p) {
    ir::find_taps(op.window, {extents, op.kernel, counts}, p, windows.taps[p]);
  }
  return windows;
}

/// Calls body(pixels, output, taps) for each window, with the first pixel of its sample.
template <typename Code, typename Body>
void for_windows(const Windows& windows, const Code* x, Code* y, Body&& body) {
  for (std::size_t n = 0; n < windows.samples; ++n, x += windows.positions * windows.channels) {
    for (const std::vector<ir::Tap>& taps : windows.taps) {
      body(x, y, taps);
      y += windows.channels;
    }
  }
}

template <typename Code>
void pool_largest(const Windows& windows, const Code* x, Code* y) {
  const std::size_t channels = windows.channels;
  for_windows(windows, x, y, [&](const Code* from, Code* to, const std::vector<ir::Tap>& taps) {
    std::fill_n(to, channels, std::numeric_limits<Code>::lowest());
    for (const ir::Tap& tap : taps) {
      const Code* pixel = from + tap.position * channels;
      for (std::size_t c = 0; c < channels; ++c) to[c] = std::max(to[c], pixel[c]);
    }
  });
}

/// @param sums  [channels]
template <typename Code>
void pool_mean(const Windows& windows, const Code* x, std::int32_t* sums, Code* y) {
  const std::size_t channels = windows.channels;
  for_windows(windows, x, y, [&](const Code* from, Code* to, const std::vector<ir::Tap>& taps) {
    std::fill_n(sums, channels, 0);
    for (const ir::Tap& tap : taps) {
      const Code* pixel = from + tap.position * channels;
      for (std::size_t c = 0; c < channels; ++c) sums[c] += pixel[c];
    }
    const auto count = static_cast<std::int32_t>(std::max<std::size_t>(taps.size(), 1));
    for (std::size_t c = 0; c < channels; ++c) {
      const std::int32_t half = sums[c] > 0 ? count / 2 : -(count / 2);
      to[c] = static_cast<Code>((sums[c] + half) / count);
    }
  });
}

template <typename Code>
Kernel pool_kernel(const NodeContext& context) {
  const bool largest = context.op<ir::Pool>().kind == ir::PoolKind::kMax;
  auto windows = std::make_shared<const Windows>(windows_of(context));
  Kernel kernel;
  kernel.scratch_bytes = largest ? 0 : windows->channels * sizeof(std::int32_t);
  kernel.bind = [windows, largest](const Buffers& buffers) -> Call {
    const auto* x = reinterpret_cast<const Code*>(buffers.inputs[0]);
    auto* sums = reinterpret_cast<std::int32_t*>(buffers.scratch);
    auto* y = reinterpret_cast<Code*>(buffers.output);
    return [windows, largest, x, sums, y] {
      largest ? pool_largest(*windows, x, y) : pool_mean(*windows, x, sums, y);
    };
  };
  return kernel;
}

Verdict judge_pool_codes(const NodeContext& context) {
  constexpr double kMaxTaps = 1 << 22;  // 8-bit sums fit in 32 bits
  if (!ir::are_codes(context.input(0))) return refuse("the input is not 8-bit codes");
  if (context.output().shape.element_count() == 0) return refuse("there is nothing to compute");
  double taps = 1;
  for (const ir::Dim extent : context.op<ir::Pool>().kernel) taps *= static_cast<double>(extent);
  if (taps > kMaxTaps) return refuse("sums of a window exceed 32 bits");
  return accept("reads codes directly");
}

Kernel create_pool_codes(const NodeContext& context) {
  if (context.input(0).encoding.element == ir::ElementType::kInt8) {
    return pool_kernel<std::int8_t>(context);
  }
  return pool_kernel<std::uint8_t>(context);
}

Verdict judge_sum_integers(const NodeContext& context) {
  const auto& op = context.op<ir::Reduce>();
  if (!context.input(0).is_dense(ir::ElementType::kInt32)) return refuse("the input is not int32");
  if (op.kind != ir::ReduceKind::kSum) return refuse("no sum");
  if (!joined_axes(context.input(0).shape, op.axes)) return refuse("the axes are not adjacent");
  return accept("over adjacent axes");
}

Kernel create_sum_integers(const NodeContext& context) {
  const ir::AxisView view = *joined_axes(context.input(0).shape, context.op<ir::Reduce>().axes);
  Kernel kernel;
  kernel.bind = [view](const Buffers& buffers) -> Call {
    // Unsigned because sums may wrap around.
    const auto* x = reinterpret_cast<const std::uint32_t*>(buffers.inputs[0]);
    auto* y = reinterpret_cast<std::uint32_t*>(buffers.output);
    return [view, x, y] {
      std::fill_n(y, view.outer * view.inner, 0U);
      const std::uint32_t* row = x;
      for (std::size_t outer = 0; outer < view.outer; ++outer) {
        std::uint32_t* sums = y + outer * view.inner;
        for (std::size_t i = 0; i < view.extent; ++i, row += view.inner) {
          for (std::size_t c = 0; c < view.inner; ++c) sums[c] += row[c];
        }
      }
    };
  };
  return kernel;
}

}  // namespace

constinit const Implementation kPoolCodes{
    .name = "codes", .judge = judge_pool_codes, .create = create_pool_codes};

constinit const Implementation kSumIntegers{
    .name = "joined_axes_i32", .judge = judge_sum_integers, .create = create_sum_integers};

}  // namespace halftone::runtime
