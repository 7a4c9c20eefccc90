// SPDX-License-Identifier: Apache-2.0
// Windows over images on a tape.
#include <algorithm>
#include <limits>

#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

/// Each window's taps, one list after another.
struct Windows {
  std::vector<std::size_t> first_tap;  ///< one per output position, and the end
  std::vector<std::size_t> positions;
};

Windows windows_of(const StepContext& context, const ir::Pool& op) {
  const auto extents = ir::spatial_extents(context.input_shape(0));
  const auto counts = ir::spatial_extents(context.output_shape());
  Windows windows;
  std::size_t outputs = 1;
  for (const ir::Dim count : counts) outputs *= static_cast<std::size_t>(count);
  std::vector<ir::Tap> taps;
  for (std::size_t p = 0; p < outputs; ++p) {
    windows.first_tap.push_back(windows.positions.size());
    find_taps(op.window, {extents, op.kernel, counts}, p, taps);
    for (const ir::Tap& tap : taps) windows.positions.push_back(tap.position);
  }
  windows.first_tap.push_back(windows.positions.size());
  return windows;
}

}  // namespace

Step pool_step(const StepContext& context, const ir::Pool& op) {
  if (op.kind == ir::PoolKind::kAverage && (op.count_padding || op.round_up)) {
    fail_gradient(describe(context.node));
  }
  const Windows windows = windows_of(context, op);
  const auto x = context.inputs[0];
  const auto dx = context.input_gradients[0];
  const auto y = context.output;
  const auto dy = context.output_gradient;
  const bool is_max = op.kind == ir::PoolKind::kMax;
  const auto samples = static_cast<std::size_t>(context.output_shape()[0]);
  const auto channels = static_cast<std::size_t>(context.output_shape().back());
  const std::size_t outputs = windows.first_tap.size() - 1;
  const std::size_t sample_elements = x.size() / std::max<std::size_t>(samples, 1);
  const auto source = std::make_shared<std::vector<std::size_t>>(y.size());  // of each maximum
  // visit(output element, first input element of its sample and channel, window)
  const auto for_each_output = [=](auto&& visit) {
    for (std::size_t i = 0; i < samples * outputs * channels; ++i) {
      const std::size_t n = i / (outputs * channels);
      visit(i, n * sample_elements + i % channels, i / channels % outputs);
    }
  };
  return {[=] {
            for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
              float most = -std::numeric_limits<float>::infinity();
              float sum = 0;
              const std::size_t end = windows.first_tap[window + 1];
              for (std::size_t t = windows.first_tap[window]; t < end; ++t) {
                const std::size_t at = base + windows.positions[t] * channels;
                sum += x[at];
                if (x[at] > most) {
                  most = x[at];
                  (*source)[i] = at;
                }
              }
              const auto count = static_cast<float>(end - windows.first_tap[window]);
              y[i] = is_max ? most : sum / std::max(count, 1.0F);
            });
          },
          [=] {
            if (dx.empty()) return;
            for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
              if (is_max) {
                dx[(*source)[i]] += dy[i];
                return;
              }
              const std::size_t end = windows.first_tap[window + 1];
              const auto count = static_cast<float>(end - windows.first_tap[window]);
              for (std::size_t t = windows.first_tap[window]; t < end; ++t) {
                dx[base + windows.positions[t] * channels] += dy[i] / count;
              }
            });
          }};
}

}  // namespace halftone::gradient
