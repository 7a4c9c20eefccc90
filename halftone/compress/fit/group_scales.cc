// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/group_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/half.h"
#include "halftone/compress/fit/bell_scale.h"
#include "halftone/kernels/fit/fit_group.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::compress {
namespace {

constexpr double kLargestHalf = 65504;
// Powers that kernels store in a byte.
constexpr double kLeastPower = 0x1p-126;
constexpr double kLargestPower = 0x1p127;

/// The binary16 nearest to x within its finite numbers.
float to_half(double x) {
  const double within = std::clamp(x, -kLargestHalf, kLargestHalf);
  return float_from_half(half_from_float(static_cast<float>(within)));
}

/// x as a multiple of a factor; 0 for a factor of 0.
double in_units(double x, float factor) {
  return factor == 0 ? 0 : x / static_cast<double>(factor);
}

/// Number i of `count` evenly spaced ones from first to last.
double spaced(double first, double last, std::size_t i, std::size_t count) {
  if (count == 1) return first;
  return first + (last - first) * static_cast<double>(i) / static_cast<double>(count - 1);
}

void append_candidate(ScaleCandidates& candidates, std::span<const float> scales,
                      std::span<const float> offsets) {
  candidates.stored_scales.insert(candidates.stored_scales.end(), scales.begin(), scales.end());
  candidates.stored_offsets.insert(candidates.stored_offsets.end(), offsets.begin(), offsets.end());
}

/// Shares of the range of a group from which the search for a scale starts.
std::vector<float> search_shares(std::size_t levels) {
  constexpr std::size_t kShares = 9;
  std::vector<float> shares(kShares);
  for (std::size_t i = 0; i < kShares; ++i) {
    shares[i] = static_cast<float>(spaced(1.05, levels <= 4 ? 0.45 : 0.75, i, kShares));
  }
  return shares;
}

/// The number of largest magnitude.
double farthest(double a, double b) { return std::abs(b) > std::abs(a) ? b : a; }

}  // namespace

GroupScaleFit::GroupScaleFit(const GroupCodes& grid, const kernels::Codewords& codewords,
                             int candidates)
    : grid_(grid),
      codewords_(codewords),
      num_candidates_(static_cast<std::size_t>(candidates)),
      is_coarse_(grid.vector() > 1 || codewords.count() <= 4),
      both_signs_(grid.scales == GroupScales::kHalf && grid.vector() == 1 &&
                  codewords.least() != -codewords.largest()),
      bell_scale_(is_coarse_ ? bell_scale_of(codewords) : 1) {}

float GroupScaleFit::stored_scale(double ideal, float factor) const {
  if (grid_.scales == GroupScales::kHalf) return to_half(ideal);
  if (numerics::has_tensor_factor(grid_.scales)) {
    return numerics::round_to(numerics::factored_type(grid_.scales), in_units(ideal, factor));
  }
  if (grid_.scales == GroupScales::kPowerOfTwo) {
    const double within = std::clamp(std::abs(ideal), kLeastPower, kLargestPower);
    return numerics::round_to(numerics::NumberType::kE8m0, within);
  }
  return static_cast<float>(std::clamp(std::round(in_units(ideal, factor)),
                                       static_cast<double>(grid_.min_scale),
                                       static_cast<double>(grid_.max_scale)));
}

float GroupScaleFit::stored_offset(double ideal, float factor) const {
  if (!grid_.has_offsets) return 0;
  if (grid_.scales == GroupScales::kHalf) return to_half(ideal);
  return static_cast<float>(
      std::clamp(std::round(in_units(ideal, factor)), 0.0, static_cast<double>(grid_.max_offset)));
}

void GroupScaleFit::multiply(const GroupOfRows& group, std::span<float> scales,
                             std::span<float> offsets) {
  for (std::size_t r = 0; r < group.scales.size(); ++r) {
    scales[r] = group.scale_factors[r] * group.scales[r];
    offsets[r] = group.offset_factors[r] * group.offsets[r];
  }
}

std::vector<double> GroupScaleFit::bell_scales(const WeightedColumns& group) const {
  std::vector<double> scales(group.weights.cols());
  double total = 0;
  for (std::size_t i = 0; i < group.weights.rows(); ++i) {
    const double v = static_cast<double>(group.importance[i]);
    const auto row = group.weights.row(i);
    total += v;
    for (std::size_t r = 0; r < row.size(); ++r) {
      const double w = static_cast<double>(row[r]);
      scales[r] += v * w * w;
    }
  }
  for (double& scale : scales) scale = total > 0 ? bell_scale_ * std::sqrt(scale / total) : 0;
  return scales;
}

GroupScaleFit::Covering GroupScaleFit::covering(double low, double high) const {
  const double least = static_cast<double>(codewords_.least());
  const double largest = static_cast<double>(codewords_.largest());
  const double up = largest > 0 ? 1 / largest : 0;
  const double down = least < 0 ? 1 / least : 0;
  return {std::max(high * up, low * down), std::min(high * down, low * up)};
}

std::vector<GroupScaleFit::Covering> GroupScaleFit::coverings(
    MatrixView<const float> weights) const {
  std::vector<float> low(weights.cols());
  std::vector<float> high(weights.cols());
  for (std::size_t i = 0; i < weights.rows(); ++i) {
    const auto row = weights.row(i);
    for (std::size_t r = 0; r < row.size(); ++r) {
      low[r] = std::min(low[r], row[r]);
      high[r] = std::max(high[r], row[r]);
    }
  }
  std::vector<Covering> all(weights.cols());
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r] = covering(static_cast<double>(low[r]), static_cast<double>(high[r]));
  }
  return all;
}

double GroupScaleFit::plain_scale(std::span<const float> weights) const {
  double squares = 0, low = 0, high = 0;
  for (const float weight : weights) {
    const double w = static_cast<double>(weight);
    squares += w * w;
    low = std::min(low, w);
    high = std::max(high, w);
  }
  if (is_coarse_) return bell_scale_ * std::sqrt(squares / static_cast<double>(weights.size()));
  return covering(low, high).positive;
}

float GroupScaleFit::factor_of(MatrixView<const float> weights) const {
  if (!numerics::has_tensor_factor(grid_.scales)) return 1;
  constexpr double kRoom = 1.5;  // for errors that are spread to weights
  double largest = 0;
  for (std::size_t r = 0; r < weights.rows(); ++r) {
    for (std::size_t first = 0; first < weights.cols(); first += grid_.group) {
      const std::size_t count = std::min(grid_.group, weights.cols() - first);
      largest = std::max(largest, plain_scale(weights.row(r).subspan(first, count)));
    }
  }
  const float most = numerics::largest(numerics::factored_type(grid_.scales));
  return static_cast<float>(kRoom * largest / static_cast<double>(most));
}

void GroupScaleFit::search(const WeightedColumns& group, std::span<const float> shares,
                           std::span<float> scales, std::span<float> offsets) const {
  kernels::ScaleSearch what{&codewords_, group.weights, group.importance, shares};
  what.has_sign = grid_.scales == GroupScales::kHalf ? both_signs_ : grid_.min_scale < 0;
  what.has_offsets = grid_.has_offsets;
  what.largest_offset =
      grid_.scales == GroupScales::kHalf ? std::numeric_limits<float>::max() : 0.0F;
  kernels::search_scales(what, scales, offsets);
}

void GroupScaleFit::choose_factors(const WeightedColumns& columns, std::span<float> scale_factors,
                                   std::span<float> offset_factors) const {
  const std::size_t rows = columns.weights.cols();
  std::vector<float> scales(rows);
  std::vector<float> offsets(rows);
  std::vector<double> farthest_scale(rows);
  std::vector<double> least_offset(rows);
  for (std::size_t first = 0; first < columns.weights.rows(); first += grid_.group) {
    search({columns.weights.rows_from(first, grid_.group),
            columns.importance.subspan(first, grid_.group)},
           search_shares(codewords_.count()), scales, offsets);
    for (std::size_t r = 0; r < rows; ++r) {
      farthest_scale[r] = farthest(farthest_scale[r], static_cast<double>(scales[r]));
      least_offset[r] = std::min(least_offset[r], static_cast<double>(offsets[r]));
    }
  }
  const int extreme_scale = grid_.min_scale < 0 ? grid_.min_scale : grid_.max_scale;
  for (std::size_t r = 0; r < rows; ++r) {
    scale_factors[r] = to_half(farthest_scale[r] / extreme_scale);
    offset_factors[r] = grid_.has_offsets ? to_half(least_offset[r] / grid_.max_offset) : 0;
  }
}

ScaleCandidates GroupScaleFit::candidates(const WeightedColumns& group,
                                          const GroupOfRows& factors) const {
  ScaleCandidates all;
  all.rows = group.weights.cols();
  if (grid_.scales == GroupScales::kHalfTimesByte) {
    add_integers(group, factors, all);
  } else if (grid_.has_offsets) {
    add_offsets(group, all);
  } else if (grid_.scales == GroupScales::kPowerOfTwo) {
    add_powers(group, all);
  } else if (is_coarse_) {
    add_multiples(group, factors, all);
  } else {
    add_ranges(group, factors, all);
  }
  all.scales.resize(all.stored_scales.size());
  all.offsets.resize(all.stored_scales.size());
  for (std::size_t i = 0; i < all.scales.size(); ++i) {
    all.scales[i] = factors.scale_factors[i % all.rows] * all.stored_scales[i];
    all.offsets[i] = factors.offset_factors[i % all.rows] * all.stored_offsets[i];
  }
  return all;
}

void GroupScaleFit::add_multiples(const WeightedColumns& group, const GroupOfRows& factors,
                                  ScaleCandidates& candidates) const {
  const std::vector<double> bell = bell_scales(group);
  const std::vector<float> offsets(candidates.rows);
  std::vector<float> scales(candidates.rows);
  const std::size_t positive = both_signs_ ? (num_candidates_ + 1) / 2 : num_candidates_;
  for (std::size_t i = 0; i < num_candidates_; ++i) {
    const bool is_negative = i >= positive;
    const std::size_t at = is_negative ? i - positive : i;
    const std::size_t count = is_negative ? num_candidates_ - positive : positive;
    const double multiple =
        (is_negative ? -1 : 1) * (count == 1 ? 1 : spaced(0.82, 1.17, at, count));
    for (std::size_t r = 0; r < scales.size(); ++r) {
      scales[r] = stored_scale(bell[r] * multiple, factors.scale_factors[r]);
    }
    append_candidate(candidates, scales, offsets);
  }
}

void GroupScaleFit::add_powers(const WeightedColumns& group, ScaleCandidates& candidates) const {
  const std::vector<Covering> all = coverings(group.weights);
  const std::vector<float> offsets(candidates.rows);
  std::vector<float> scales(candidates.rows);
  constexpr double kSteps[] = {1, 0.5, 2};
  for (const double step : std::span(kSteps).first(num_candidates_ < 3 ? 1 : 3)) {
    for (std::size_t r = 0; r < scales.size(); ++r) {
      scales[r] = stored_scale(all[r].positive * step, 1);
    }
    append_candidate(candidates, scales, offsets);
  }
}

void GroupScaleFit::add_ranges(const WeightedColumns& group, const GroupOfRows& factors,
                               ScaleCandidates& candidates) const {
  const std::vector<Covering> all = coverings(group.weights);
  const std::vector<float> offsets(candidates.rows);
  std::vector<float> scales(candidates.rows);
  // More of the sign that needs the shorter scale.
  const std::size_t shorter = both_signs_ ? (3 * num_candidates_ + 3) / 4 : num_candidates_;
  // Of nested codes those of the first bits, which need shorter ranges.
  const std::size_t num_levels = codewords_.count() / codewords_.numbers();
  const auto levels = static_cast<double>(num_levels);
  for (std::size_t i = 0; i < num_candidates_; ++i) {
    const bool is_longer = i >= shorter;
    const double share = is_longer
                             ? spaced(1, 1 - 2 / levels, i - shorter, num_candidates_ - shorter)
                             : spaced(1 + 0.5 / levels, 1 - 3 / levels, i, shorter);
    for (std::size_t r = 0; r < scales.size(); ++r) {
      const bool is_positive = !both_signs_ || (all[r].positive <= -all[r].negative) != is_longer;
      const double scale = is_positive ? all[r].positive : all[r].negative;
      scales[r] = stored_scale(scale * share, factors.scale_factors[r]);
    }
    append_candidate(candidates, scales, offsets);
  }
}

void GroupScaleFit::add_offsets(const WeightedColumns& group, ScaleCandidates& candidates) const {
  std::vector<float> scales(candidates.rows);
  std::vector<float> offsets(candidates.rows);
  for (std::size_t i = 0; i < num_candidates_; ++i) {
    const double narrow = codewords_.count() <= 4 ? 0.5 : 0.75;
    const auto share = static_cast<float>(spaced(1.05, narrow, i, num_candidates_));
    search(group, std::span(&share, 1), scales, offsets);
    for (float& scale : scales) scale = to_half(static_cast<double>(scale));
    for (float& offset : offsets) offset = to_half(static_cast<double>(offset));
    append_candidate(candidates, scales, offsets);
  }
}

void GroupScaleFit::add_integers(const WeightedColumns& group, const GroupOfRows& factors,
                                 ScaleCandidates& candidates) const {
  std::vector<float> ideal_scales(candidates.rows);
  std::vector<float> ideal_offsets(candidates.rows);
  search(group, search_shares(codewords_.count()), ideal_scales, ideal_offsets);
  std::vector<float> scales(candidates.rows);
  std::vector<float> offsets(candidates.rows);
  const int beside = num_candidates_ < 3 ? 0 : 1;
  const int offsets_beside = grid_.has_offsets ? beside : 0;
  // In units of the factors, the nearest integers first.
  constexpr int kSteps[] = {0, -1, 1};
  for (const int scale_step : std::span(kSteps).first(beside == 0 ? 1 : 3)) {
    for (const int offset_step : std::span(kSteps).first(offsets_beside == 0 ? 1 : 3)) {
      for (std::size_t r = 0; r < scales.size(); ++r) {
        const float scale_factor = factors.scale_factors[r];
        const float offset_factor = factors.offset_factors[r];
        scales[r] = stored_scale(
            static_cast<double>(ideal_scales[r]) + scale_step * static_cast<double>(scale_factor),
            scale_factor);
        offsets[r] = stored_offset(static_cast<double>(ideal_offsets[r]) +
                                       offset_step * static_cast<double>(offset_factor),
                                   offset_factor);
      }
      append_candidate(candidates, scales, offsets);
    }
  }
}

namespace {

/// The squared error of a group as its scale and offset move by s and m, relative to now:
///
///     -2 (s a + m b) + s^2 A + 2 s m B + m^2 C.
struct ErrorParabola {
  double a, b, A, B, C;

  [[nodiscard]] double gain(double s, double m) const {
    return 2 * (s * a + m * b) - (s * s * A + 2 * s * m * B + m * m * C);
  }
  /// The best s for an m, and the best m for an s.
  [[nodiscard]] double best_scale(double m) const { return A > 0 ? (a - m * B) / A : 0; }
  [[nodiscard]] double best_offset(double s) const { return C > 0 ? (b - s * B) / C : 0; }
  /// The s of the best pair.
  [[nodiscard]] double best_scale_of_pair() const {
    const double determinant = A * C - B * B;
    return determinant > 1e-6 * A * C ? (a * C - b * B) / determinant : best_scale(0);
  }
};

}  // namespace

void GroupScaleFit::improve(const kernels::LevelSums& sums, float total,
                            const GroupOfRows& group) const {
  for (std::size_t r = 0; r < group.scales.size(); ++r) {
    const float scale_factor = group.scale_factors[r];
    const float offset_factor = group.offset_factors[r];
    const double s = static_cast<double>(scale_factor * group.scales[r]);
    const double m = static_cast<double>(offset_factor * group.offsets[r]);
    const ErrorParabola error{static_cast<double>(sums.level_gradient[r]),
                              static_cast<double>(sums.gradient[r]),
                              static_cast<double>(sums.level_norm[r]),
                              static_cast<double>(sums.level_sum[r]), static_cast<double>(total)};
    double best = 0;
    const auto consider = [&](float scale, float offset) {
      const double gain = error.gain(static_cast<double>(scale_factor * scale) - s,
                                     static_cast<double>(offset_factor * offset) - m);
      if (!(gain > best)) return;
      best = gain;
      group.scales[r] = scale;
      group.offsets[r] = offset;
    };
    const float old_scale = group.scales[r];
    const float old_offset = group.offsets[r];
    consider(stored_scale(s + error.best_scale(0), scale_factor), old_offset);
    if (!grid_.has_offsets) continue;
    consider(old_scale, stored_offset(m + error.best_offset(0), offset_factor));
    const float scale = stored_scale(s + error.best_scale_of_pair(), scale_factor);
    const double moved = static_cast<double>(scale_factor * scale) - s;
    consider(scale, stored_offset(m + error.best_offset(moved), offset_factor));
  }
}

}  // namespace halftone::compress
