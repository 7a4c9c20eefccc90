// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/histogram.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/spmd/collectives.hpp"
#include "halftone/spmd/map.hpp"

namespace halftone::compress {
namespace {

/// The exponent of the smallest bins with which a magnitude above zero has one: the magnitude is in
/// [2^m, 2^(m+1)), and 2048 = 2^11 bins of 2^(m-10) end at 2^(m+1).
int exponent_for(float magnitude) {
  constexpr int kBitsBelow = 10;
  return std::ilogb(magnitude) - kBitsBelow;
}

}  // namespace

void Histogram::grow_to(int exponent) {
  if (exponent <= exponent_) return;
  const int shift = std::min(exponent - exponent_, 11);  // all bins merge to the first
  for (std::vector<std::int64_t>& bins : bins_) {
    for (std::size_t b = 1; b < kNumBins; ++b) {
      bins[b >> shift] += std::exchange(bins[b], 0);
    }
  }
  exponent_ = exponent;
}

void Histogram::add(std::span<const float> values) {
  range_.add(values);
  if (range_.magnitude() > 0) grow_to(exponent_for(range_.magnitude()));
  const double per_bin = std::ldexp(1.0, -exponent_);
  for (const float x : values) {
    HALFTONE_ASSERT(std::isfinite(x));
    if (x == 0) {
      ++num_zeros_;
    } else {
      ++bins_[x > 0 ? 1 : 0][static_cast<std::size_t>(std::abs(double{x}) * per_bin)];
    }
  }
  count_ += static_cast<std::int64_t>(values.size());
}

void Histogram::add(const Histogram& other) {
  count_ += other.count_;
  num_zeros_ += other.num_zeros_;
  range_.low = std::min(range_.low, other.range_.low);
  range_.high = std::max(range_.high, other.range_.high);
  grow_to(other.exponent_);
  const int shift = std::min(exponent_ - other.exponent_, 11);
  for (std::size_t sign = 0; sign < bins_.size(); ++sign) {
    for (std::size_t b = 0; b < kNumBins; ++b) {
      bins_[sign][b >> shift] += other.bins_[sign][b];
    }
  }
}

/// The number of values, that of zeros, and the bins.
void Histogram::append_counts(std::vector<std::int64_t>& counts) const {
  counts.insert(counts.end(), {count_, num_zeros_});
  for (const auto& bins : bins_) counts.insert(counts.end(), bins.begin(), bins.end());
}

/// The inverse.
Histogram::Histogram(const numerics::ValueRange& range, int exponent,
                     std::span<const std::int64_t> counts)
    : count_(counts[0]), num_zeros_(counts[1]), range_(range), exponent_(exponent) {
  for (std::size_t sign = 0; sign < bins_.size(); ++sign) {
    const auto bins = counts.subspan(2 + sign * kNumBins, kNumBins);
    bins_[sign].assign(bins.begin(), bins.end());
  }
}

double Histogram::bin_width() const { return std::ldexp(1.0, exponent_); }

std::vector<std::int64_t> Histogram::magnitudes() const {
  if (count_ == num_zeros_) return {};
  const auto last = static_cast<std::size_t>(double{range_.magnitude()} / bin_width());
  std::vector<std::int64_t> counts(last + 1);
  for (std::size_t b = 0; b <= last; ++b) counts[b] = bins_[0][b] + bins_[1][b];
  counts[0] += num_zeros_;
  return counts;
}

bool Histogram::operator==(const Histogram& other) const {
  return count_ == other.count_ && num_zeros_ == other.num_zeros_ &&
         range_.low == other.range_.low && range_.high == other.range_.high &&
         exponent_ == other.exponent_ && bins_ == other.bins_;
}

namespace {

using Ends = std::tuple<spmd::Array, spmd::Array>;  // float32 [n, 2]: -low, high; int32 [n]: e

constexpr const char* kRankAxis = "rank";

}  // namespace

/// Every lane belongs to a device. One of each rank brings the histograms, the others empty ones.
std::vector<Histogram> sum_over_ranks(std::vector<Histogram> histograms,
                                      const spmd::Devices& devices) {
  if (!devices.spans_ranks()) return histograms;
  const std::size_t n = histograms.size();
  constexpr std::size_t kRow = 2 + 2 * Histogram::kNumBins;
  std::vector<Histogram> result(n);
  std::atomic<bool> is_taken = false;
  const auto lane = [&] {
    const bool is_first = !is_taken.exchange(true);
    std::vector<Histogram> mine = is_first ? histograms : std::vector<Histogram>(n);
    std::vector<float> ranges;
    std::vector<std::int32_t> exponents;
    for (const Histogram& each : mine) {
      ranges.insert(ranges.end(), {-each.range_.low, each.range_.high});
      exponents.push_back(each.exponent_);
    }
    const auto extent = static_cast<std::int64_t>(n);
    const Ends ends = spmd::pmax(Ends{spmd::Array::from<float>({extent, 2}, ranges),
                                      spmd::Array::from<std::int32_t>({extent}, exponents)},
                                 kRankAxis);
    std::vector<std::int64_t> counts;
    for (std::size_t i = 0; i < n; ++i) {
      mine[i].grow_to(std::get<1>(ends).as<std::int32_t>()[i]);
      mine[i].append_counts(counts);
    }
    const spmd::Array sums = spmd::psum(
        spmd::Array::from<std::int64_t>({extent, static_cast<std::int64_t>(kRow)}, counts),
        kRankAxis);
    for (std::size_t i = 0; is_first && i < n; ++i) {
      const auto range = std::get<0>(ends).as<float>().subspan(2 * i, 2);
      result[i] = Histogram({-range[0], range[1]}, std::get<1>(ends).as<std::int32_t>()[i],
                            sums.as<std::int64_t>().subspan(i * kRow, kRow));
    }
    return spmd::Array::scalar(std::int32_t{0});
  };
  spmd::spread_sum(lane,
                   {.axis_name = kRankAxis, .axis_size = devices.size(), .devices = devices})();
  return result;
}

}  // namespace halftone::compress
