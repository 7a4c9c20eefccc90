// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode/encode_table.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/error.h"

namespace halftone::kernels {
namespace {

/// Comparisons per number up to which they beat a search; all bases of 4 bits stay below.
constexpr std::size_t kMaxComparisons = 64;
/// Levels that are worth arithmetic, and how far their thresholds may be from evenly spaced ones,
/// relative to their distance. Rounding moves 256 of them by some 2^-15.
constexpr std::size_t kMinSpaced = 15;
constexpr float kMaxMargin = 0x1p-8F;

}  // namespace

EncodeTable::EncodeTable(const numerics::Levels& levels) : levels_(levels) {
  if (levels.bits() > numerics::kMaxBits) {
    fail(ErrorKind::kUsage, "encode: expected at most " + std::to_string(numerics::kMaxBits) +
                                " bits, found " + std::to_string(levels.bits()));
  }
  const numerics::LevelTable table(levels);
  const auto finite = [](float x) { return std::isfinite(x); };
  if (!std::all_of(table.levels().begin(), table.levels().end(), finite) ||
      !std::all_of(table.thresholds().begin(), table.thresholds().end(), finite)) {
    fail(ErrorKind::kUsage, "encode: expected levels within float32, found some that overflow");
  }
  thresholds_.assign(table.thresholds().begin(), table.thresholds().end());
  thresholds_.resize(2 * table.size(), std::numeric_limits<float>::quiet_NaN());
  codes_.assign(table.codes().begin(), table.codes().end());
  beyond_ = table.beyond();
  index_thresholds();
}

bool EncodeTable::move_before(const std::function<float(float)>& f) {
  if (beyond_) return false;
  const float least = f(-std::numeric_limits<float>::infinity());
  if (!(least <= thresholds_.front())) return false;
  for (std::size_t l = 0; l + 1 < codes_.size(); ++l) {
    const float t = thresholds_[l];
    thresholds_[l] = numerics::largest_where([&](float x) { return f(x) <= t; }, t);
  }
  index_thresholds();
  return true;
}

void EncodeTable::index_thresholds() {
  find_flips();
  fill_buckets();
  find_spacing();
}

void EncodeTable::find_flips() {
  flips_.clear();
  for (std::size_t j = 0; j < bits(); ++j) {
    first_flip_[j] = flips_.size();
    lowest_[j] = (codes_[0] >> j & 1) != 0 ? ~std::uint64_t{0} : 0;
    for (std::size_t l = 0; l + 1 < codes_.size(); ++l) {
      if (((codes_[l] ^ codes_[l + 1]) >> j & 1) != 0) flips_.push_back(thresholds_[l]);
    }
    first_flip_[j + 1] = flips_.size();
  }
  by_comparison_ = flips_.size() <= kMaxComparisons && !beyond_;
}

void EncodeTable::fill_buckets() {
  const float low = thresholds().front();
  const float half_width = thresholds().back() / 2 - low / 2;
  const float scale = Buckets::kLast / 2 / half_width;
  // If the range is too narrow or too wide to divide, all values are in the first bucket.
  const bool divides = std::isfinite(low) && std::isfinite(scale);
  bucket_low_ = divides ? low : 0;
  bucket_scale_ = divides ? scale : 0;
  std::vector<std::size_t> counts(Buckets::kCount);
  for (const float t : thresholds()) ++counts[static_cast<std::size_t>(buckets().of(t))];
  bucket_step_ = std::bit_ceil(*std::ranges::max_element(counts) + 1) / 2;
  first_.clear();
  std::size_t before = 0;
  for (const std::size_t count : counts) {
    first_.push_back(static_cast<std::uint8_t>(before));
    before += count;
  }
}

void EncodeTable::find_spacing() {
  spacing_ = {};
  const std::size_t n = thresholds().size();
  if (n < kMinSpaced) return;
  const float low = thresholds().front();
  const double range = static_cast<double>(thresholds().back()) - static_cast<double>(low);
  const auto scale = static_cast<float>(static_cast<double>(n - 1) / range);
  float margin = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const float away = std::abs((thresholds()[k] - low) * scale - static_cast<float>(k));
    if (!(away <= kMaxMargin)) return;  // NaN too
    margin = std::max(margin, away);
  }
  spacing_ = {low, scale, static_cast<float>(n) - 0.5F, margin};
}

}  // namespace halftone::kernels
