// SPDX-License-Identifier: Apache-2.0
// Products of pairs of 16-bit numbers.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_PAIR_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_PAIR_PRODUCTS_INL_H_
#undef HALFTONE_KERNELS_PAIR_PRODUCTS_INL_H_
#else
#define HALFTONE_KERNELS_PAIR_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

/// For functions that use the dot products of AVX-512 VNNI, which every processor of AVX3_DL has.
#undef HALFTONE_VNNI
#if HWY_TARGET == HWY_AVX3_DL
// Clang takes this as the complete target list of the function, GCC as an addition to it.
#define HALFTONE_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
#else
#define HALFTONE_VNNI
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_AVX2
/// acc + v in 32 bits, in the register of acc: GCC 12 otherwise adds into others and copies these.
template <class V>
HWY_INLINE V AddInPlace(V acc, __m256i v) {
#if HWY_COMPILER_GCC_ACTUAL
  asm("vpaddd %1, %0, %0" : "+x"(acc.raw) : "x"(v));
  return acc;
#else
  return hn::Add(acc, V{v});
#endif
}
#endif

/// acc + a0 b0 + a1 b1 in each lane of 32 bits, which holds a pair of numbers with signs.
template <class V>
HALFTONE_VNNI HWY_INLINE V AddPairProducts(V acc, V a, V b) {
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
  if constexpr (sizeof(acc.raw) == 64) {
#if HWY_TARGET == HWY_AVX3_DL
    return V{_mm512_dpwssd_epi32(acc.raw, a.raw, b.raw)};
#else
    return hn::Add(acc, V{_mm512_madd_epi16(a.raw, b.raw)});
#endif
  } else {
    return hn::Add(acc, V{_mm256_madd_epi16(a.raw, b.raw)});
  }
#elif HWY_TARGET == HWY_AVX2
  return AddInPlace(acc, _mm256_madd_epi16(a.raw, b.raw));
#elif HWY_TARGET == HWY_SSE4
  return hn::Add(acc, V{_mm_madd_epi16(a.raw, b.raw)});
#elif HWY_TARGET == HWY_NEON
  const int16x8_t x = vreinterpretq_s16_s32(a.raw);
  const int16x8_t y = vreinterpretq_s16_s32(b.raw);
  const int32x4_t lower = vmull_s16(vget_low_s16(x), vget_low_s16(y));
  return hn::Add(acc, V{vpaddq_s32(lower, vmull_high_s16(x, y))});
#else
  const auto low = [](V v) HWY_ATTR { return hn::ShiftRight<16>(hn::ShiftLeft<16>(v)); };
  const auto high = [](V v) HWY_ATTR { return hn::ShiftRight<16>(v); };
  return hn::Add(acc, hn::Add(hn::Mul(low(a), low(b)), hn::Mul(high(a), high(b))));
#endif
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
