// SPDX-License-Identifier: Apache-2.0
// Calibrators: which range of values the levels of an activation cover.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "halftone/compress/fit/histogram.h"
#include "halftone/compress/fit/parameters.h"

namespace halftone::compress {

/// How the levels of an activation follow from calibration data.
enum class Calibrator {
  kFit,            ///< fit_levels() on a sample; the others give a range instead
  kMinMax,         ///< from the least to the largest value
  kMovingAverage,  ///< moving averages of the least and the largest value of a batch
  kPercentile,     ///< without a share of the values at both ends
  kMse,            ///< the range of the least squared error
  kKl,             ///< the range of the least Kullback-Leibler divergence
};

std::string_view to_string(Calibrator calibrator);  ///< "fit", "min-max", ...
/// The calibrator of this name. @throws Error kUsage that lists the names
Calibrator calibrator_named(std::string_view name);

struct RangeOptions {
  Calibrator calibrator = Calibrator::kFit;
  double percentile = 99.99;  ///< for kPercentile: share of values in the range, 50 to 100
  double momentum = 0.99;     ///< for kMovingAverage, 0 to 1

  bool operator==(const RangeOptions&) const = default;
};

/// What calibrators know of a value.
struct ValueStatistics {
  Histogram values;
  /// Moving averages of the least and the largest value of a batch.
  numerics::ValueRange average;
};

/// The weight of batch i of n in a moving average that starts with the first batch,
///
///     a_0 = x_0,  a_i = momentum a_(i-1) + (1 - momentum) x_i,
///
/// so that a_(n-1) is the sum of weight(i) x_i, whatever the order in which batches are computed.
/// The default momentum is that of PyTorch's MovingAverageMinMaxObserver, whose averaging constant
/// is 0.01. @pre i < n
double moving_average_weight(std::size_t i, std::size_t n, double momentum);

/// The range [low, high] that levels should cover; low < high.
///
/// kPercentile cuts off (100 - percentile) / 2 percent of the values at each end, at edges of bins.
/// This is the percentile calibrator of ONNX Runtime.
///
/// kMse and kKl choose a threshold T at or near an edge of a bin. The range is
/// [max(least, -T), min(largest, T)], with the least and the largest value.
/// - kMse computes the squared error sum count(b) (x_b - level(x_b))^2 of the system's own levels
///   over each range, where x_b is the middle of bin b, and takes the least.
/// - kKl: see kl_threshold(), for 2^(K-1) levels of a system of K bits, or 2^K if it has an offset
///   and no value is negative. The first bin gets the count of the second: most zeros are outputs
///   of a ReLU, have a level in any case, and would outweigh all other values. NVIDIA's
///   pytorch-quantization does both (calib/histogram.py); the talk mentions neither.
///
/// @param space  the number system
/// @throws Error kUsage if there are no values, or the range has a single value, as that of a
///         percentile may if most values are zero
/// @pre options.calibrator is not kFit
numerics::ValueRange range_of(const ValueStatistics& statistics, const RangeOptions& options,
                              const ParameterSpace& space);

/// D(P_i || Q_i) for thresholds after i = num_levels, num_levels + 1, ..., n bins:
///
///     P_i = (h_0, ..., h_(i-2), h_(i-1) + h_i + ... + h_(n-1)) / sum
///
/// is the distribution with all outliers in the last bin. Q_i represents it with num_levels
/// levels: bin b < i belongs to level floor(b num_levels / i), and each level divides the sum of
/// its counts h_b, without outliers, evenly among those of its bins where P_i is not zero.
///     D(P || Q) = sum P_b log(P_b / Q_b),
/// and is infinite if Q_b is zero where P_b is not.
/// @param bins  [n] counts of magnitudes, not all zero
/// @return      one for each i; if n < num_levels, a single one, for i = n
/// Source: S. Migacz, 8-bit inference with TensorRT, GTC 2017, pages 37 to 39.
/// Differs: 2^(K-1) levels for K bits in place of 128; also tries i = n, without outliers. Bins
/// are assigned to levels where the levels do not divide i: the source leaves this open, and this
/// is how NVIDIA's pytorch-quantization does it.
std::vector<double> kl_divergences(std::span<const std::int64_t> bins, std::size_t num_levels);

/// (i + 1/2) w for the i of the least divergence, the smallest of equal ones.
/// @param bin_width  w
double kl_threshold(std::span<const std::int64_t> bins, double bin_width, std::size_t num_levels);

/// The levels of a number system over a range. A system with an offset begins at `low` and ends
/// at `high`. One without takes the narrowest levels around both; one whose rule gives the largest
/// magnitude another level than the largest follows this rule. Learned levels are evenly spaced.
/// Scale and offset are rounded to numbers that are stored; a power of two is rounded up. If larger
/// numbers become infinite or NaN, levels cover twice the range, as in fit_levels().
/// @throws Error kUsage if learned levels would be beyond float32
numerics::Levels levels_over(const ParameterSpace& space, const numerics::ValueRange& range);

}  // namespace halftone::compress
