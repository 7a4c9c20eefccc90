// SPDX-License-Identifier: Apache-2.0
// Windows over images on a tape.
#include <algorithm>
#include <limits>

#include "halftone/base/elementary.h"
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

/// A pooling operator on the tape.
class Pooling {
 public:
  Pooling(const StepContext& context, const ir::Pool& op)
      : windows_(windows_of(context, op)),
        is_max_(op.kind == ir::PoolKind::kMax),
        samples_(static_cast<std::size_t>(context.output_shape()[0])),
        channels_(static_cast<std::size_t>(context.output_shape().back())),
        x_(context.inputs[0]),
        dx_(context.input_gradients[0]),
        y_(context.output),
        dy_(context.output_gradient),
        source_(y_.size()) {}

  void run() {
    for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
      float most = -std::numeric_limits<float>::infinity();
      float sum = 0;
      for (const std::size_t position : taps(window)) {
        const std::size_t at = base + position * channels_;
        sum += x_[at];
        if (elementary::larger(most, x_[at]) == most) continue;
        most = elementary::larger(most, x_[at]);
        source_[i] = at;
      }
      const auto count = static_cast<float>(taps(window).size());
      y_[i] = is_max_ ? most : sum / std::max(count, 1.0F);
    });
  }

  void run_back() const {
    if (dx_.empty()) return;
    for_each_output([&](std::size_t i, std::size_t base, std::size_t window) {
      if (is_max_) {
        dx_[source_[i]] += dy_[i];
        return;
      }
      const auto count = static_cast<float>(taps(window).size());
      for (const std::size_t position : taps(window)) {
        dx_[base + position * channels_] += dy_[i] / count;
      }
    });
  }

 private:
  [[nodiscard]] std::span<const std::size_t> taps(std::size_t window) const {
    const std::size_t first = windows_.first_tap[window];
    return std::span(windows_.positions).subspan(first, windows_.first_tap[window + 1] - first);
  }

  /// Calls visit(output element, first input element of its sample and channel, window).
  template <typename Visit>
  void for_each_output(Visit&& visit) const {
    const std::size_t outputs = windows_.first_tap.size() - 1;
    const std::size_t sample_elements = x_.size() / std::max<std::size_t>(samples_, 1);
    for (std::size_t i = 0; i < samples_ * outputs * channels_; ++i) {
      const std::size_t n = i / (outputs * channels_);
      visit(i, n * sample_elements + i % channels_, i / channels_ % outputs);
    }
  }

  Windows windows_;
  bool is_max_;
  std::size_t samples_;
  std::size_t channels_;
  std::span<const float> x_;
  std::span<float> dx_;
  std::span<float> y_;
  std::span<const float> dy_;
  std::vector<std::size_t> source_;  ///< the input element of each maximum
};

TapeStep pool_step(const StepContext& context, const ir::Pool& op) {
  if (op.kind == ir::PoolKind::kAverage && (op.count_padding || op.round_up)) {
    fail_gradient(describe(context.node));
  }
  const auto pooling = std::make_shared<Pooling>(context, op);
  return {[=] { pooling->run(); }, [=] { pooling->run_back(); }};
}

constexpr StepEntry kPoolSteps[] = {step_entry<ir::Pool, pool_step>()};

}  // namespace

std::span<const StepEntry> pool_steps() { return kPoolSteps; }

}  // namespace halftone::gradient
