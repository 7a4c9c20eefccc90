// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/levels.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/encode/search_levels-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Up to this many levels are found by comparing with all thresholds, more by bisection.
constexpr std::size_t kMaxCompared = 16;
constexpr std::size_t kPartialSums = 16;
constexpr std::size_t kRun = 4096;
using DPart = hn::CappedTag<float, kPartialSums>;
using Partial = float[kPartialSums];

/// Number of thresholds below x.
HWY_INLINE std::size_t LevelOf(float x, const float* thresholds, std::size_t count) {
  return static_cast<std::size_t>(std::lower_bound(thresholds, thresholds + count, x) - thresholds);
}

void RoundToLevels(const float* x, std::size_t n, const float* levels, const float* thresholds,
                   std::size_t num_levels, float* y) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; num_levels <= kMaxCompared && i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    auto level = hn::Set(d, levels[0]);
    for (std::size_t t = 0; t + 1 < num_levels; ++t) {
      level = hn::IfThenElse(hn::Gt(value, hn::Set(d, thresholds[t])), hn::Set(d, levels[t + 1]),
                             level);
    }
    hn::StoreU(level, d, y + i);
  }
  for (; i < n; ++i) y[i] = levels[LevelOf(x[i], thresholds, num_levels - 1)];
}

/// @param levels  of the table, ascending
void RoundToTable(const float* x, std::size_t n, const float* levels, const EncodeTable& table,
                  float* y) {
  const std::size_t num_levels = table.codes().size();
  if (num_levels <= kMaxCompared && !table.beyond()) {
    return RoundToLevels(x, n, levels, table.thresholds().data(), num_levels, y);
  }
  std::uint8_t found[kSearched];
  for (std::size_t i = 0; i < n; i += kSearched) {
    const std::size_t count = std::min(kSearched, n - i);
    SearchLevels(x + i, count, table, found);
    for (std::size_t c = 0; c < count; ++c) {
      const auto* special = table.beyond() ? table.beyond()->find(x[i + c]) : nullptr;
      y[i + c] = special != nullptr ? special->value : levels[found[c]];
    }
  }
}

/// Adds sixteen values to the partial sums of their levels. A value above one threshold and not
/// above the next has the level between them. NaN is above no threshold, so it has the lowest
/// level.
HWY_INLINE void AddSixteen(const float* x, const float* v, const float* thresholds,
                           std::size_t num_levels, Partial* partial) {
  const DPart d;
  for (std::size_t l = 0; l < kPartialSums; l += hn::Lanes(d)) {
    const auto value = hn::LoadU(d, x + l);
    auto left = hn::LoadU(d, v + l);  // values above the thresholds so far, else 0
    for (std::size_t t = 0; t + 1 < num_levels; ++t) {
      const auto above = hn::IfThenElseZero(hn::Gt(value, hn::Set(d, thresholds[t])), left);
      const auto here = hn::IfThenZeroElse(hn::Gt(value, hn::Set(d, thresholds[t])), left);
      hn::Store(hn::Add(hn::Load(d, partial[t] + l), here), d, partial[t] + l);
      left = above;
    }
    float* const last = partial[num_levels - 1] + l;
    hn::Store(hn::Add(hn::Load(d, last), left), d, last);
  }
}

void SumByLevel(const float* x, const float* v, std::size_t n, const float* thresholds,
                std::size_t num_levels, double* sums) {
  HWY_ALIGN Partial partial[kMaxSummedLevels];
  for (std::size_t begin = 0; begin < n; begin += kRun) {
    const std::size_t end = std::min(begin + kRun, n);
    std::fill_n(&partial[0][0], num_levels * kPartialSums, 0.0F);
    std::size_t i = begin;
    for (; num_levels <= kMaxCompared && i + kPartialSums <= end; i += kPartialSums) {
      AddSixteen(x + i, v + i, thresholds, num_levels, partial);
    }
    for (; i < end; ++i) {
      partial[LevelOf(x[i], thresholds, num_levels - 1)][(i - begin) % kPartialSums] += v[i];
    }
    for (std::size_t level = 0; level < num_levels; ++level) {
      float* const part = partial[level];
      for (std::size_t h = kPartialSums / 2; h != 0; h /= 2) {
        for (std::size_t l = 0; l < h; ++l) part[l] += part[l + h];
      }
      sums[level] += static_cast<double>(part[0]);
    }
  }
}

void PassBetween(const float* x, std::size_t n, float low, float high, const float* g, float* y) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    const auto inside = hn::And(hn::Ge(value, hn::Set(d, low)), hn::Le(value, hn::Set(d, high)));
    hn::StoreU(hn::IfThenElseZero(inside, hn::LoadU(d, g + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = x[i] >= low && x[i] <= high ? g[i] : 0.0F;
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(RoundToLevels);
HALFTONE_EXPORT(RoundToTable);
HALFTONE_EXPORT(SumByLevel);
HALFTONE_EXPORT(PassBetween);

void round_to_levels(std::span<const float> x, const numerics::LevelTable& table,
                     std::span<float> y) noexcept {
  HALFTONE_ASSERT(y.size() == x.size());
  if (table.beyond()) {
    // Rare: few systems have numbers beyond their levels.
    std::ranges::transform(x, y.begin(), [&](float each) { return table.nearest(each); });
    return;
  }
  HALFTONE_DISPATCH(RoundToLevels)
  (x.data(), x.size(), table.levels().data(), table.thresholds().data(), table.size(), y.data());
}

void round_to_levels(std::span<const float> x, const EncodeTable& table,
                     std::span<float> y) noexcept {
  HALFTONE_ASSERT(y.size() == x.size());
  std::array<float, kMaxSummedLevels> levels{};
  std::ranges::transform(table.codes(), levels.begin(),
                         [&](numerics::Code code) { return table.levels().value(code); });
  HALFTONE_DISPATCH(RoundToTable)(x.data(), x.size(), levels.data(), table, y.data());
}

void sum_by_level(std::span<const float> x, std::span<const float> v,
                  const numerics::LevelTable& table, std::span<double> sums) noexcept {
  HALFTONE_ASSERT(v.size() == x.size() && sums.size() == table.size());
  if (table.size() > kMaxSummedLevels) return sum_by_level_reference(x, v, table, sums);
  std::ranges::fill(sums, 0.0);
  HALFTONE_DISPATCH(SumByLevel)
  (x.data(), v.data(), x.size(), table.thresholds().data(), table.size(), sums.data());
}

void count_by_level(std::span<const float> x, const numerics::LevelTable& table,
                    std::span<double> counts) noexcept {
  HALFTONE_ASSERT(counts.size() == table.size());
  std::ranges::fill(counts, 0.0);
  if (table.size() > kMaxSummedLevels) {
    for (const float each : x) counts[table.index(each)] += 1;
    return;
  }
  constexpr std::size_t kOnes = 4096;
  float ones[kOnes];
  std::ranges::fill(ones, 1.0F);
  for (std::size_t begin = 0; begin < x.size(); begin += kOnes) {
    const auto part = x.subspan(begin, std::min(kOnes, x.size() - begin));
    HALFTONE_DISPATCH(SumByLevel)
    (part.data(), ones, part.size(), table.thresholds().data(), table.size(), counts.data());
  }
}

void pass_between(std::span<const float> x, float low, float high, std::span<const float> g,
                  std::span<float> y) noexcept {
  HALFTONE_ASSERT(g.size() == x.size() && y.size() == x.size());
  HALFTONE_DISPATCH(PassBetween)(x.data(), x.size(), low, high, g.data(), y.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
