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
#include <limits>

#include "halftone/kernels/encode/encode_table.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Numbers that are searched together.
constexpr std::size_t kSearched = 64;

/// The levels of kSearched numbers by EncodeTable::Spacing: store(first number, levels as floats).
/// @return false if a number is too near a threshold: what was stored is not certain
template <class Store>
HWY_INLINE bool ComputeLevels(const float* HWY_RESTRICT x, const EncodeTable::Spacing& spacing,
                              const Store& store) {
  const hn::ScalableTag<float> d;
  const auto low = hn::Set(d, spacing.low);
  const auto scale = hn::Set(d, spacing.scale);
  const auto least = hn::Set(d, -0.5F);
  const auto last = hn::Set(d, spacing.last);
  const auto margin = hn::Set(d, spacing.margin);
  auto nearest = hn::Set(d, 1.0F);  // distance to a threshold
  for (std::size_t c = 0; c < kSearched; c += hn::MaxLanes(d)) {
    const auto at = hn::Mul(hn::Sub(hn::LoadU(d, x + c), low), scale);
    const auto r = hn::Min(hn::IfThenElse(hn::Gt(at, least), at, least), last);
    nearest = hn::Min(nearest, hn::Abs(hn::Sub(r, hn::Round(r))));
    store(c, hn::Ceil(r));
  }
  return hn::AllTrue(d, hn::Gt(nearest, margin));
}

#if HWY_TARGET != HWY_SCALAR

/// Numbers that fit bytes. On AVX-512 one instruction, where DemoteTo() takes several to saturate
/// in the order of 128-bit blocks.
template <class DBytes, class V>
HWY_INLINE hn::Vec<DBytes> ToBytes(DBytes d, V numbers) {
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
  if constexpr (hn::MaxLanes(DBytes()) == 16) {
    return hn::Vec<DBytes>{_mm512_cvtepi32_epi8(numbers.raw)};
  }
#endif
  return hn::DemoteTo(d, numbers);
}

#endif

/// Stores whole numbers + kWholePart as bytes. The sum has the number in the lowest
/// bits of its mantissa, which takes fewer instructions than a conversion.
/// @tparam T  type of the bytes
constexpr float kWholePart = 12582912;  // 1.5 2^23
template <typename T, class V>
HWY_INLINE void StoreBytes(V sum, T* HWY_RESTRICT to) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto number = hn::Sub(hn::BitCast(di, sum), hn::BitCast(di, hn::Set(d, kWholePart)));
#if HWY_TARGET == HWY_SCALAR
  *to = static_cast<T>(hn::GetLane(number));
#else
  const hn::Rebind<T, decltype(d)> bytes;
  hn::StoreU(ToBytes(bytes, number), bytes, to);
#endif
}

/// The buckets of numbers.
/// @param numbers  to the end of the last vector
HWY_INLINE void FindBuckets(const float* HWY_RESTRICT numbers, std::size_t count,
                            const EncodeTable::Buckets& buckets, std::int32_t* HWY_RESTRICT to) {
  const hn::ScalableTag<float> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto low = hn::Set(d, buckets.low);
  const auto scale = hn::Set(d, buckets.scale);
  const auto last = hn::Set(d, EncodeTable::Buckets::kLast);
  for (std::size_t c = 0; c < count; c += hn::MaxLanes(d)) {
    const auto at = hn::Mul(hn::Sub(hn::LoadU(d, numbers + c), low), scale);
    // Zero for NaN too.
    const auto positive = hn::IfThenElseZero(hn::Gt(at, hn::Zero(d)), at);
    hn::StoreU(hn::ConvertTo(di, hn::Min(positive, last)), di, to + c);
  }
}

/// The levels of up to kSearched numbers: by arithmetic where that is certain, otherwise their
/// buckets all at once, then each from its bucket on.
/// @param levels  [count]
HWY_INLINE void SearchLevels(const float* HWY_RESTRICT x, std::size_t count,
                             const EncodeTable& table, std::uint8_t* HWY_RESTRICT levels) {
  const hn::ScalableTag<float> d;
  const EncodeTable::Buckets buckets = table.buckets();  // which no level overwrites
  alignas(64) float numbers[kSearched];
  std::fill(std::copy_n(x, count, numbers), numbers + kSearched,
            std::numeric_limits<float>::infinity());  // which is near no threshold
  alignas(64) std::uint8_t computed[kSearched];
  const auto store = [&](std::size_t c, auto level) HWY_ATTR {
    StoreBytes(hn::Add(level, hn::Set(d, kWholePart)), computed + c);
  };
  if (table.spacing().is_even() && ComputeLevels(numbers, table.spacing(), store)) {
    std::copy_n(computed, count, levels);
    return;
  }
  alignas(64) std::int32_t bucket[kSearched];
  FindBuckets(numbers, count, buckets, bucket);
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
