// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdint>

#include "halftone/compress/budget/knapsack_core.h"

namespace halftone::compress {
namespace {

/// A sum with the rounding of a few numbers: Neumaier, Rundungsfehleranalyse einiger Verfahren zur
/// Summation endlicher Summen, ZAMM 54 (1974).
class AccurateSum {
 public:
  void add(double x) {
    const double next = sum_ + x;
    lost_ += std::abs(sum_) >= std::abs(x) ? (sum_ - next) + x : (x - next) + sum_;
    sum_ = next;
  }
  [[nodiscard]] double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0;
  double lost_ = 0;
};

/// The bound at multipliers; its slopes are by how much the sizes of its choices exceed the
/// budgets.
KnapsackBound bound_at(const KnapsackCore& core, const KnapsackMultipliers& m) {
  AccurateSum sum;
  KnapsackSizes sizes{};
  for (const CoreItem& item : core.items) {
    const CoreChoice* best = nullptr;
    double least = std::numeric_limits<double>::infinity();
    for (const CoreChoice& each : item.choices) {
      const double value = each.cost + weighted(each.sizes, m);
      if (value < least || best == nullptr) {
        least = value;
        best = &each;
      }
    }
    sum.add(least);
    for (std::size_t k = 0; k < 2; ++k) sizes[k] += best->sizes[k];
  }
  KnapsackBound bound{m};
  for (std::size_t k = 0; k < 2; ++k) {
    // A multiplier of 0 belongs to a budget that may be too large for its product.
    if (m[k] > 0) sum.add(-m[k] * static_cast<double>(core.budgets[k]));
    bound.slopes[k] = static_cast<double>(sizes[k]) - static_cast<double>(core.budgets[k]);
  }
  bound.value = sum.value();
  return bound;
}

/// The greatest bound over multiplier k >= 0, where `find` gives the greatest one over the other
/// multiplier: a concave function of straight pieces. Follows the intersections of a rising and a
/// falling one, which end in its highest corner.
/// @param enough  a value that is great enough to stop at
template <typename Find>
KnapsackBound highest_corner(std::size_t k, double first_step, double enough, const Find& find) {
  constexpr int kMaxSteps = 200;
  KnapsackBound low = find(0.0);
  if (low.slopes[k] <= 0) return low;
  KnapsackBound high = find(first_step);
  for (int step = 0; step < kMaxSteps && high.slopes[k] > 0; ++step) {
    if (high.value > enough) return high;
    low = high;
    high = find(2 * high.at[k]);
  }
  if (high.slopes[k] > 0) return high;
  for (int step = 0; step < kMaxSteps; ++step) {
    const double rise = high.value - low.value + high.slopes[k] * (low.at[k] - high.at[k]);
    const double at = low.at[k] + rise / (low.slopes[k] - high.slopes[k]);
    if (!(at > low.at[k] && at < high.at[k])) break;
    const KnapsackBound middle = find(at);
    constexpr double kNothing = 1e-15;
    const double top = low.value + low.slopes[k] * (at - low.at[k]);
    const bool is_corner = middle.value >= top - kNothing * enough;
    (middle.slopes[k] > 0 ? low : high) = middle;
    if (is_corner) break;
  }
  KnapsackBound best = low.value > high.value ? low : high;
  // At the corner the other slope is that of the mixture of both pieces that is level in this one.
  const std::size_t other = 1 - k;
  const double part = low.slopes[k] / (low.slopes[k] - high.slopes[k]);
  best.slopes[other] = low.slopes[other] + part * (high.slopes[other] - low.slopes[other]);
  best.slopes[k] = 0;
  return best;
}

}  // namespace

KnapsackBound greatest_bound(const KnapsackCore& core) {
  std::array<double, 2> steps{};
  for (std::size_t k = 0; k < 2; ++k) {
    std::int64_t range = 1;
    for (const CoreItem& item : core.items) {
      std::int64_t largest = 0;
      for (const CoreChoice& each : item.choices) largest = std::max(largest, each.sizes[k]);
      range += largest;
    }
    steps[k] = (core.scale > 0 ? core.scale : 1) / static_cast<double>(range);
  }
  const double enough = core.scale + core.tolerance;
  return highest_corner(1, steps[1], enough, [&](double second) {
    return highest_corner(0, steps[0], enough, [&](double first) {
      return bound_at(core, {first, second});
    });
  });
}

}  // namespace halftone::compress
