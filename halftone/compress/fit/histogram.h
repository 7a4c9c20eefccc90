// SPDX-License-Identifier: Apache-2.0
// Counts of a stream of values in bins, of fixed size.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/numerics/scale_rule.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

/// Counts values by sign and magnitude, and zeros apart:
///
///     x < 0     negative bin floor(|x| / w)
///     x > 0     positive bin floor(x / w),        w = 2^e,  0 <= bin < 2048
///
/// The width w is the smallest power of two for which the largest magnitude has a bin, so that
/// magnitude is in one of the upper 1024 bins. When it grows, w doubles and pairs of bins merge,
/// which is exact: floor(floor(x / w) / 2) = floor(x / 2w). So the counts depend only on the
/// values, not on their order, on batches or on devices. Memory: 32 KiB. Differs from the
/// histograms of TensorRT and ONNX Runtime, whose width follows from the first batch.
class Histogram {
 public:
  Histogram() = default;

  static constexpr std::size_t kNumBins = 2048;  ///< of each sign

  /// @pre all are finite
  void add(std::span<const float> values);
  void add(const Histogram& other);

  /// Number of values.
  [[nodiscard]] std::int64_t count() const { return count_; }
  [[nodiscard]] std::int64_t num_zeros() const { return num_zeros_; }
  /// The least and the largest value, exactly.
  [[nodiscard]] const numerics::ValueRange& range() const { return range_; }
  /// w; 2^-159 if no value is other than zero.
  [[nodiscard]] double bin_width() const;
  /// [kNumBins] by magnitude.
  [[nodiscard]] std::span<const std::int64_t> negatives() const { return bins_[0]; }
  [[nodiscard]] std::span<const std::int64_t> positives() const { return bins_[1]; }
  /// Counts of |x| up to the bin of the largest; zeros are in the first. Empty if all are zero.
  [[nodiscard]] std::vector<std::int64_t> magnitudes() const;

  bool operator==(const Histogram& other) const;

 private:
  friend std::vector<Histogram> sum_over_ranks(std::vector<Histogram> histograms,
                                               const spmd::Devices& devices);
  Histogram(const numerics::ValueRange& range, int exponent, std::span<const std::int64_t> counts);
  void append_counts(std::vector<std::int64_t>& counts) const;
  void grow_to(int exponent);

  static constexpr int kLeastExponent = -159;  ///< puts the smallest float32 in bin 1024

  std::int64_t count_ = 0;
  std::int64_t num_zeros_ = 0;
  numerics::ValueRange range_;
  int exponent_ = kLeastExponent;  ///< e
  std::array<std::vector<std::int64_t>, 2> bins_{std::vector<std::int64_t>(kNumBins),
                                                 std::vector<std::int64_t>(kNumBins)};
};

/// The histograms of all values of all ranks, on every rank. Each rank calls it with as many
/// histograms, of the values that it has seen.
std::vector<Histogram> sum_over_ranks(std::vector<Histogram> histograms,
                                      const spmd::Devices& devices);

}  // namespace halftone::compress
