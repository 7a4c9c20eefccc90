// SPDX-License-Identifier: Apache-2.0
// EncodeTable::level() of many values.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_SEARCH_LEVELS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_SEARCH_LEVELS_INL_H_
#undef HALFTONE_KERNELS_SEARCH_LEVELS_INL_H_
#else
#define HALFTONE_KERNELS_SEARCH_LEVELS_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstdint>

#include "halftone/kernels/encode/encode_table.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Numbers that are searched together.
constexpr std::size_t kSearched = 64;

/// The levels of up to kSearched numbers: their buckets all at once, then each from its bucket on.
/// @param levels  [count]
HWY_INLINE void SearchLevels(const float* HWY_RESTRICT x, std::size_t count,
                             const EncodeTable& table, std::uint8_t* HWY_RESTRICT levels) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const EncodeTable::Buckets buckets = table.buckets();  // which no level overwrites
  alignas(64) float numbers[kSearched] = {};
  alignas(64) std::int32_t bucket[kSearched];
  std::copy_n(x, count, numbers);
  const auto low = hn::Set(d, buckets.low);
  const auto scale = hn::Set(d, buckets.scale);
  const auto last = hn::Set(d, EncodeTable::Buckets::kLast);
  for (std::size_t c = 0; c < count; c += hn::MaxLanes(d)) {
    const auto at = hn::Mul(hn::Sub(hn::Load(d, numbers + c), low), scale);
    // Zero for NaN too.
    const auto positive = hn::IfThenElseZero(hn::Gt(at, hn::Zero(d)), at);
    hn::Store(hn::ConvertTo(di, hn::Min(positive, last)), di, bucket + c);
  }
  if (buckets.step == 1) {
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t first = buckets.first[bucket[c]];
      levels[c] = static_cast<std::uint8_t>(first + (numbers[c] > buckets.thresholds[first]));
    }
    return;
  }
  for (std::size_t c = 0; c < count; ++c) levels[c] = buckets.search(numbers[c], bucket[c]);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
