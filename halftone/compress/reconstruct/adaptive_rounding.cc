// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/reconstruct/adaptive_rounding.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "halftone/base/elementary.h"

namespace halftone::compress {
namespace {

// The sigmoid is stretched to (kLow, kLow + kStretch).
constexpr double kLow = -0.1;
constexpr double kStretch = 1.2;
// The slope of h at 0.
constexpr double kSteepest = kStretch / 4;

constexpr double kWarmStart = 0.2;
constexpr double kFirstExponent = 20;
constexpr double kLastExponent = 2;

double sigmoid(double v) { return 1 / (1 + elementary::exp(-v)); }

}  // namespace

double rectified_sigmoid(double v) { return std::clamp(kStretch * sigmoid(v) + kLow, 0.0, 1.0); }

double rectified_sigmoid_slope(double v) {
  const double h = rectified_sigmoid(v);
  if (h <= 0 || h >= 1) return 0;
  const double s = sigmoid(v);
  return kStretch * s * (1 - s);
}

double inverse_rectified_sigmoid(double share) {
  const double s = (share - kLow) / kStretch;
  return elementary::log(s / (1 - s));
}

double rounding_penalty(double h, double exponent) {
  return 1 - elementary::pow(std::abs(2 * h - 1), exponent);
}

double rounding_penalty_slope(double h, double exponent) {
  const double side = 2 * h - 1;
  const double size = 2 * exponent * elementary::pow(std::abs(side), exponent - 1);
  return side > 0 ? -size : size;
}

double rounding_exponent(double progress) {
  if (progress < kWarmStart) return 0;
  const double annealed = (progress - kWarmStart) / (1 - kWarmStart);
  const double falling = (1 + elementary::cos(std::numbers::pi * annealed)) / 2;
  return kLastExponent + (kFirstExponent - kLastExponent) * falling;
}

AdaptiveRounding::AdaptiveRounding(const numerics::MatrixEncoding& encoding, std::size_t rows,
                                   std::size_t cols, std::span<const float> weights)
    : RoundedWeights(encoding, rows, cols),
      low_(weights.size(), 0),
      gaps_(weights.size(), 0),
      variables_(weights.size(), 0),
      values_(weights.size(), 0),
      adam_(weights.size()) {
  for (std::size_t b = 0; b < encoding.num_blocks(); ++b) tables_.emplace_back(encoding.levels(b));
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const std::span<const float> levels = tables_[block].levels();
    for (std::size_t i = first; i < first + count; ++i) {
      const auto above =
          static_cast<std::size_t>(std::ranges::upper_bound(levels, weights[i]) - levels.begin());
      low_[i] = above == 0 ? 0 : above - 1;
      if (above == 0 || above == levels.size()) continue;
      const float low = levels[low_[i]];
      gaps_[i] = levels[above] - low;
      const double share = (static_cast<double>(weights[i]) - static_cast<double>(low)) /
                           (static_cast<double>(levels[above]) - static_cast<double>(low));
      variables_[i] = static_cast<float>(inverse_rectified_sigmoid(share));
    }
  });
  update_values();
}

void AdaptiveRounding::update_values() {
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const std::span<const float> levels = tables_[block].levels();
    for (std::size_t i = first; i < first + count; ++i) {
      const double h = gaps_[i] > 0 ? rectified_sigmoid(static_cast<double>(variables_[i])) : 0;
      values_[i] = static_cast<float>(static_cast<double>(levels[low_[i]]) +
                                      static_cast<double>(gaps_[i]) * h);
    }
  });
}

std::vector<float> AdaptiveRounding::variable_gradient(std::span<const float> gradient,
                                                       const WeightStep& step) const {
  const double exponent = rounding_exponent(step.progress);
  const double penalty = exponent > 0 ? step.penalty : 0;
  std::vector<float> result(variables_.size(), 0);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto v = static_cast<double>(variables_[i]);
    const double slope = gaps_[i] > 0 ? rectified_sigmoid_slope(v) : 0;
    if (slope == 0) continue;
    double by_h = static_cast<double>(gradient[i]) * static_cast<double>(gaps_[i]);
    if (penalty > 0) by_h += penalty * rounding_penalty_slope(rectified_sigmoid(v), exponent);
    result[i] = static_cast<float>(by_h * slope);
  }
  return result;
}

void AdaptiveRounding::step(std::span<const float> gradient, const WeightStep& step) {
  adam_.step(variables_, variable_gradient(gradient, step), step.weight_rate / kSteepest);
  update_values();
}

void AdaptiveRounding::round() {
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    const std::span<const float> levels = tables_[block].levels();
    for (std::size_t i = first; i < first + count; ++i) {
      // h(0) = 1/2 takes the lower level, as numbers on a threshold do.
      if (gaps_[i] > 0 && variables_[i] > 0) ++low_[i];
      gaps_[i] = 0;
      values_[i] = levels[low_[i]];
    }
  });
}

numerics::BitPlanes AdaptiveRounding::codes() const {
  numerics::BitPlanes codes(rows(), cols(), format().bits);
  for_each_run([&](std::size_t block, std::size_t first, std::size_t count) {
    for (std::size_t i = first; i < first + count; ++i) {
      codes.set_code(i / cols(), i % cols(), tables_[block].codes()[low_[i]]);
    }
  });
  return codes;
}

}  // namespace halftone::compress
