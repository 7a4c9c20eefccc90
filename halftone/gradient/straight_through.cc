// SPDX-License-Identifier: Apache-2.0
#include "halftone/gradient/straight_through.h"

#include <memory>

#include "halftone/gradient/steps.h"

namespace halftone::gradient {
namespace {

/// Marks an element that was not encoded.
constexpr std::uint16_t kDropped = 0xffff;

}  // namespace

void StraightThrough::encode(std::span<const float> x, std::span<float> y, DropOptions& drop,
                             std::size_t first) {
  // An element stays float if a random 16-bit number is below this.
  const auto bound = static_cast<std::uint64_t>(drop.probability * 65536);
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (bound != 0) bits = i % 4 == 0 ? drop.random.next() : bits >> 16;
    const bool drops = bound != 0 && (bits & 0xffff) < bound;
    const std::size_t index = drops ? kDropped : levels_.index(x[i]);
    indices_[first + i] = static_cast<std::uint16_t>(index);
    y[i] = drops ? x[i] : levels_.levels()[index];
  }
}

void StraightThrough::pass_back(std::span<const float> x, std::span<const float> dy,
                                std::span<float> dx, std::span<double> level_gradient,
                                std::size_t first) const {
  const float low = levels_.levels().front() - levels_.half_gap();
  const float high = levels_.levels().back() + levels_.half_gap();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const std::uint16_t index = indices_[first + i];
    const bool is_dropped = index == kDropped;
    if (!is_dropped && !level_gradient.empty()) level_gradient[index] += static_cast<double>(dy[i]);
    if (!dx.empty() && (is_dropped || (x[i] > low && x[i] < high))) dx[i] += dy[i];
  }
}

TapeStep encode_step(const StepContext& context) {
  const auto x = context.inputs[0];
  const auto codes = std::make_shared<StraightThrough>(*context.levels, x.size());
  return {[x, codes, y = context.output, drop = context.drop] { codes->encode(x, y, *drop); },
          [x, codes, dx = context.input_gradients[0], dy = context.output_gradient,
           dlevels = context.level_gradient] { codes->pass_back(x, dy, dx, dlevels); }};
}

namespace {

TapeStep make_rounding(const StepContext& context, const ir::FakeQuantize& /*op*/) {
  return {definition_step(context).forward,
          [dx = context.input_gradients[0], dy = context.output_gradient] {
            for (std::size_t i = 0; i < dx.size(); ++i) dx[i] += dy[i];
          }};
}

constexpr StepEntry kRoundingSteps[] = {step_entry<ir::FakeQuantize, make_rounding>()};

}  // namespace

std::span<const StepEntry> rounding_steps() { return kRoundingSteps; }

}  // namespace halftone::gradient
