// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/step_function.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <optional>

namespace halftone::ir {
namespace {

/// Evenly spaced values step (first + i), where first is whole or half of an odd number.
struct EvenSteps {
  float step;
  double first;
  std::size_t count;

  [[nodiscard]] bool is_whole() const { return first == std::floor(first); }
};

bool is_near(double a, double b) {
  return std::abs(a - b) <= 0x1p-22 * std::max(std::abs(a), std::abs(b));
}

/// The part of a step function that numbers reach.
StepFunction reachable(const StepFunction& function) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  const auto& thresholds = function.thresholds;
  const auto first = std::ranges::find_if(thresholds, [](float t) { return t > -kLargest; });
  const auto last = std::find_if(first, thresholds.end(), [](float t) { return !(t < kLargest); });
  const auto skipped = first - thresholds.begin();
  return {{first, last},
          {function.values.begin() + skipped,
           function.values.begin() + (last - thresholds.begin()) + 1}};
}

/// The even steps that a function is; none if it is another.
std::optional<EvenSteps> even_steps(const StepFunction& function) {
  const std::vector<float>& values = function.values;
  if (values.size() < 2) return std::nullopt;
  const double range = static_cast<double>(values.back()) - static_cast<double>(values.front());
  const double step = range / static_cast<double>(values.size() - 1);
  if (!(step > 0) || !std::isfinite(range)) return std::nullopt;
  const double first = std::round(2 * static_cast<double>(values.front()) / step) / 2;
  constexpr double kMaxSteps = 1 << 20;  // so that float32 holds halves
  if (std::abs(first) > kMaxSteps) return std::nullopt;
  const EvenSteps even{static_cast<float>(step), first, values.size()};
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double at = first + static_cast<double>(i);
    const double value = static_cast<double>(static_cast<float>(at) * even.step);
    if (!is_near(value, static_cast<double>(values[i]))) return std::nullopt;
    if (i == 0) continue;
    const double middle = (at - 0.5) * step;
    const double threshold = static_cast<double>(function.thresholds[i - 1]);
    if (!is_near(threshold, middle) && std::abs(threshold - middle) > 0x1p-22 * step) {
      return std::nullopt;
    }
  }
  return even;
}

ValueId add_even_steps(Nodes& nodes, ValueId x, const EvenSteps& even) {
  const ValueId step = nodes.number("step", even.step);
  const ValueId scaled = nodes.binary("scaled", BinaryKind::kDiv, x, step);
  const auto kind = even.is_whole() ? ActivationKind::kRound : ActivationKind::kFloor;
  ValueId index = nodes.add("index", Unary{{kind}}, {scaled});
  const auto low = static_cast<float>(std::floor(even.first));
  const auto high = low + static_cast<float>(even.count - 1);
  index = nodes.add("bounded", Unary{{ActivationKind::kClip, low, high}}, {index});
  if (!even.is_whole()) {
    index = nodes.binary("middle", BinaryKind::kAdd, index, nodes.number("half", 0.5F));
  }
  return nodes.binary("level", BinaryKind::kMul, index, step);
}

/// d with from + d == to in float32; none if there is none near.
std::optional<float> difference(float from, float to) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float d = to - from;
  for (const float each : {d, std::nextafter(d, kInfinity), std::nextafter(d, -kInfinity)}) {
    if (from + each == to) return each;
  }
  return std::nullopt;
}

/// The differences of values; none if sums of them are others.
std::optional<std::vector<float>> differences(std::span<const float> values) {
  std::vector<float> found;
  for (std::size_t i = 1; i < values.size(); ++i) {
    const auto d = difference(values[i - 1], values[i]);
    if (!d || !std::isfinite(*d)) return std::nullopt;
    found.push_back(*d);
  }
  return found;
}

ValueId add_sum(Nodes& nodes, ValueId x, const StepFunction& function,
                std::span<const float> differences) {
  ValueId sum = nodes.number("level0", function.values[0]);
  for (std::size_t i = 0; i < differences.size(); ++i) {
    const std::string step = "step" + std::to_string(i + 1);
    const ValueId threshold = nodes.number(step + "/threshold", function.thresholds[i]);
    const ValueId above = nodes.binary(step + "/above", BinaryKind::kGreater, x, threshold);
    const ValueId one = nodes.add(step + "/one", Cast{ElementType::kFloat32}, {above});
    const ValueId rise = nodes.number(step + "/rise", differences[i]);
    const ValueId part = nodes.binary(step + "/part", BinaryKind::kMul, one, rise);
    sum = nodes.binary(i + 1 == differences.size() ? "level" : step + "/sum", BinaryKind::kAdd,
                       part, sum);
  }
  return sum;
}

}  // namespace

ValueId add_steps(Nodes& nodes, ValueId x, const StepFunction& function) {
  const StepFunction part = reachable(function);
  if (const auto even = even_steps(part)) return add_even_steps(nodes, x, *even);
  if (part.values.size() >= 2 && part.values.size() <= kMaxSummed) {
    if (const auto rises = differences(part.values)) return add_sum(nodes, x, part, *rises);
  }
  return add_search(nodes, x, function);
}

ValueId add_search(Nodes& nodes, ValueId x, const StepFunction& function) {
  std::vector<float> thresholds = function.thresholds;
  std::vector<float> values = function.values;
  const std::size_t size = std::max<std::size_t>(2, std::bit_ceil(values.size()));
  thresholds.resize(size - 1, std::numeric_limits<float>::max());
  values.resize(size, values.back());
  ValueId index = kAbsent;
  for (std::size_t half = size / 2; half > 0; half /= 2) {
    const std::string step = "step" + std::to_string(half);
    std::vector<float> own;
    for (std::size_t i = half - 1; i < thresholds.size(); i += 2 * half) {
      own.push_back(thresholds[i]);
    }
    ValueId threshold = nodes.numbers(step + "/thresholds", own);
    const bool is_first = index == kAbsent;
    if (!is_first) threshold = nodes.add(step + "/threshold", Gather{0}, {threshold, index});
    const ValueId is_above = nodes.binary(step + "/above", BinaryKind::kGreater, x, threshold);
    const ValueId bit = nodes.add(step + "/bit", Cast{ElementType::kInt32}, {is_above});
    if (is_first) {
      index = bit;
    } else {
      const ValueId twice = nodes.binary(step + "/twice", BinaryKind::kAdd, index, index);
      index = nodes.binary(step + "/index", BinaryKind::kAdd, twice, bit);
    }
  }
  return nodes.add("level", Gather{0}, {nodes.numbers("levels", values), index});
}

}  // namespace halftone::ir
