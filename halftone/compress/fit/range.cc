// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/range.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/base/error.h"
#include "halftone/numerics/systems.h"

namespace halftone::compress {
namespace {

using numerics::ValueRange;

constexpr std::array<std::pair<std::string_view, Calibrator>, 6> kCalibrators = {{
    {"fit", Calibrator::kFit},
    {"min-max", Calibrator::kMinMax},
    {"moving-average", Calibrator::kMovingAverage},
    {"percentile", Calibrator::kPercentile},
    {"mse", Calibrator::kMse},
    {"kl", Calibrator::kKl},
}};

/// [max(least, -threshold), min(largest, threshold)].
ValueRange clipped(const ValueRange& range, double threshold) {
  return {static_cast<float>(std::max(double{range.low}, -threshold)),
          static_cast<float>(std::min(double{range.high}, threshold))};
}

/// The bins of a histogram in ascending order of their values; zeros are a bin of their own.
/// Empty bins are left out.
class SortedBins {
 public:
  explicit SortedBins(const Histogram& histogram) : range_(histogram.range()) {
    const double width = histogram.bin_width();
    for (std::size_t b = Histogram::kNumBins; b-- > 0;) {
      const auto at = static_cast<double>(b);
      add({-(at + 1) * width, -at * width}, histogram.negatives()[b]);
    }
    add({0, 0}, histogram.num_zeros());
    for (std::size_t b = 0; b < Histogram::kNumBins; ++b) {
      const auto at = static_cast<double>(b);
      add({at * width, (at + 1) * width}, histogram.positives()[b]);
    }
  }

  /// Sum of count (x - level(x))^2 over the middles x of the bins.
  [[nodiscard]] double squared_error(const numerics::LevelTable& levels) const {
    double error = 0;
    std::size_t level = 0;
    for (const Bin& bin : bins_) {
      while (level + 1 < levels.size() && bin.middle > double{levels.thresholds()[level]}) ++level;
      const double difference = bin.middle - double{levels.levels()[level]};
      error += static_cast<double>(bin.count) * difference * difference;
    }
    return error;
  }

  /// The range without a share of the values at each end.
  [[nodiscard]] ValueRange without(double share) const {
    std::int64_t total = 0;
    for (const Bin& bin : bins_) total += bin.count;
    const double cut = share * static_cast<double>(total);
    const auto is_reached = [cut, sum = std::int64_t{0}](const Bin& bin) mutable {
      sum += bin.count;
      return static_cast<double>(sum) > cut;
    };
    const auto low = std::find_if(bins_.begin(), bins_.end(), is_reached);
    const auto high = std::find_if(bins_.rbegin(), bins_.rend(), is_reached);
    return {std::max(static_cast<float>(low->low), range_.low),
            std::min(static_cast<float>(high->high), range_.high)};
  }

 private:
  struct Bin {
    double low;
    double high;
    double middle;
    std::int64_t count;
  };

  void add(std::pair<double, double> edges, std::int64_t count) {
    if (count == 0) return;
    const auto [low, high] = edges;
    const double middle = std::clamp((low + high) / 2, double{range_.low}, double{range_.high});
    bins_.push_back({low, high, middle, count});
  }

  ValueRange range_;
  std::vector<Bin> bins_;
};

ValueRange mse_range(const Histogram& histogram, const ParameterSpace& space) {
  const SortedBins bins(histogram);
  const std::size_t count = histogram.magnitudes().size();
  ValueRange best = histogram.range();
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i <= count; ++i) {
    const ValueRange range =
        clipped(histogram.range(), static_cast<double>(i) * histogram.bin_width());
    const numerics::LevelTable levels(levels_over(space, range));
    const double error = bins.squared_error(levels);
    if (error >= least) continue;
    least = error;
    best = range;
  }
  return best;
}

/// Levels for each sign: all of them if there are no negative values and the offset can make use of
/// that.
std::size_t levels_of_magnitudes(const Histogram& histogram, const ParameterSpace& space) {
  const bool is_one_sided = space.has_offset() && histogram.range().low >= 0;
  return std::size_t{1} << (is_one_sided ? space.bits() : space.bits() - 1);
}

ValueRange kl_range(const Histogram& histogram, const ParameterSpace& space) {
  std::vector<std::int64_t> bins = histogram.magnitudes();
  // Most zeros are outputs of a ReLU. They have a level in any case.
  if (bins.size() > 1) bins[0] = bins[1];
  const double threshold =
      kl_threshold(bins, histogram.bin_width(), levels_of_magnitudes(histogram, space));
  return clipped(histogram.range(), threshold);
}

ValueRange any_range(const ValueStatistics& statistics, const RangeOptions& options,
                     const ParameterSpace& space) {
  const Histogram& histogram = statistics.values;
  switch (options.calibrator) {
    case Calibrator::kMovingAverage:
      return statistics.average;
    case Calibrator::kPercentile:
      return SortedBins(histogram).without((100 - options.percentile) / 200);
    case Calibrator::kMse:
      return mse_range(histogram, space);
    case Calibrator::kKl:
      return kl_range(histogram, space);
    case Calibrator::kFit:
    case Calibrator::kMinMax:
      break;
  }
  return histogram.range();
}

/// The divergence of a threshold after i bins.
/// @param outliers  the sum of the other bins
double divergence(std::span<const std::int64_t> bins, std::int64_t outliers,
                  std::size_t num_levels) {
  const std::size_t i = bins.size();
  double inside = 0;
  for (const std::int64_t count : bins) inside += static_cast<double>(count);
  const double all = inside + static_cast<double>(outliers);
  const auto reference = [&](std::size_t b) {
    return static_cast<double>(bins[b] + (b + 1 == i ? outliers : 0));
  };
  double sum = 0;
  std::size_t begin = 0;
  for (std::size_t level = 0; level < num_levels && begin < i; ++level) {
    // The first bin b with floor(b num_levels / i) > level.
    const std::size_t end = ((level + 1) * i + num_levels - 1) / num_levels;
    double merged = 0;
    double num_nonzero = 0;
    for (std::size_t b = begin; b < end; ++b) {
      merged += static_cast<double>(bins[b]);
      if (reference(b) > 0) ++num_nonzero;
    }
    const double q = merged / num_nonzero / inside;
    for (std::size_t b = begin; b < end; ++b) {
      const double p = reference(b) / all;
      if (p == 0) continue;
      if (merged == 0) return std::numeric_limits<double>::infinity();
      sum += p * elementary::log(p / q);
    }
    begin = end;
  }
  return sum;
}

}  // namespace

std::string_view to_string(Calibrator calibrator) {
  return kCalibrators[static_cast<std::size_t>(calibrator)].first;
}

Calibrator calibrator_named(std::string_view name) {
  std::string list;
  for (const auto& [known, calibrator] : kCalibrators) {
    if (known == name) return calibrator;
    list.append(list.empty() ? "" : ", ").append(known);
  }
  fail(ErrorKind::kUsage,
       "calibrator: expected one of " + list + ", found '" + std::string(name) + "'");
}

double moving_average_weight(std::size_t i, std::size_t n, double momentum) {
  HALFTONE_ASSERT(i < n);
  const double power = elementary::pow(momentum, static_cast<double>(n - 1 - i));
  return i == 0 ? power : (1 - momentum) * power;
}

ValueRange range_of(const ValueStatistics& statistics, const RangeOptions& options,
                    const ParameterSpace& space) {
  HALFTONE_ASSERT(options.calibrator != Calibrator::kFit);
  const std::string name = "calibrator " + std::string(to_string(options.calibrator));
  if (statistics.values.count() == 0) fail(ErrorKind::kUsage, name + ": there are no values");
  const ValueRange range = any_range(statistics, options, space);
  if (range.low < range.high) return range;
  std::ostringstream text;
  text << name << ": the range has the single value " << range.low << " of values from "
       << statistics.values.range().low << " to " << statistics.values.range().high
       << "; use another calibrator, such as fit or min-max";
  fail(ErrorKind::kUsage, text.str());
}

std::vector<double> kl_divergences(std::span<const std::int64_t> bins, std::size_t num_levels) {
  std::vector<double> divergences;
  std::int64_t outliers = 0;
  for (const std::int64_t count : bins) outliers += count;
  const std::size_t first = std::min(num_levels, bins.size());
  for (std::size_t i = 1; i <= bins.size(); ++i) {
    outliers -= bins[i - 1];
    if (i >= first) divergences.push_back(divergence(bins.first(i), outliers, num_levels));
  }
  return divergences;
}

double kl_threshold(std::span<const std::int64_t> bins, double bin_width, std::size_t num_levels) {
  const std::vector<double> divergences = kl_divergences(bins, num_levels);
  const auto best = std::ranges::min_element(divergences) - divergences.begin();
  const std::size_t first = std::min(num_levels, bins.size());
  return (static_cast<double>(first) + static_cast<double>(best) + 0.5) * bin_width;
}

numerics::Levels levels_over(const ParameterSpace& space, const ValueRange& range) {
  const double low{range.low};
  const double high{range.high};
  const double magnitude{range.magnitude()};
  if (space.codebook() == nullptr) {
    const auto scale = static_cast<float>(2 * magnitude / ((1 << space.bits()) - 1));
    const numerics::Basis basis = space.has_offset()
                                      ? numerics::range_basis(space.bits(), range.low, range.high)
                                      : numerics::symmetric_basis(space.bits(), scale);
    return space.to_levels(space.parameters_of(basis));
  }
  const double factor = space.codebook()->beyond().has_value() ? 2 : 1;
  Vector parameters = space.covering(factor * low, factor * high, false);
  const double largest = numerics::find_system(space.codebook()->name()).largest;
  if (largest != 0 && !space.has_offset()) parameters[0] = magnitude / largest;
  if (space.has_coarse_scales() && parameters[0] > 0) {
    int exponent = 0;
    if (std::frexp(parameters[0], &exponent) == 0.5) --exponent;
    parameters[0] = std::ldexp(1.0, exponent);
  }
  return space.to_levels(parameters);
}

}  // namespace halftone::compress
