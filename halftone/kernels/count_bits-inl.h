// SPDX-License-Identifier: Apache-2.0
// Counts bits in the words of vectors: per word if the target has an instruction for it, else per
// byte.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_COUNT_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_COUNT_BITS_INL_H_
#undef HALFTONE_KERNELS_COUNT_BITS_INL_H_
#else
#define HALFTONE_KERNELS_COUNT_BITS_INL_H_
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Popcount() counts the bits of a vector of 64-bit words, AddCounts() adds up the counts of at most
// kChunkWords words, WidenCounts() converts them to one number per word.

#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_SCALAR

/// No limit: lanes are 64 bits.
constexpr std::size_t kChunkWords = ~std::size_t{0};
template <class V>
HWY_INLINE V Popcount(V v) {
  return hn::PopulationCount(v);
}
template <class V>
HWY_INLINE V AddCounts(V a, V b) {
  return hn::Add(a, b);
}
template <class V>
HWY_INLINE V WidenCounts(V v) {
  return v;
}

#else

/// Counts are kept per byte, at most 8 a word, so 31 words fit before they are widened.
constexpr std::size_t kChunkWords = 31;
template <class V>
using CountBytes = hn::Repartition<std::uint8_t, hn::DFromV<V> >;
template <class V>
HWY_INLINE V Popcount(V v) {
  return hn::BitCast(hn::DFromV<V>(), hn::PopulationCount(hn::BitCast(CountBytes<V>(), v)));
}
template <class V>
HWY_INLINE V AddCounts(V a, V b) {
  const CountBytes<V> d;
  return hn::BitCast(hn::DFromV<V>(), hn::Add(hn::BitCast(d, a), hn::BitCast(d, b)));
}
template <class V>
HWY_INLINE V WidenCounts(V v) {
  return hn::SumsOf8(hn::BitCast(CountBytes<V>(), v));
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
