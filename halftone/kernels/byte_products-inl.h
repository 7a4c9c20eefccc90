// SPDX-License-Identifier: Apache-2.0
// Products of unsigned and signed bytes.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_BYTE_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_BYTE_PRODUCTS_INL_H_
#undef HALFTONE_KERNELS_BYTE_PRODUCTS_INL_H_
#else
#define HALFTONE_KERNELS_BYTE_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "halftone/kernels/pair_products-inl.h"

/// Whether functions may use the dot products of Armv8.2: on NEON_DOT, and where every processor
/// has them.
#undef HALFTONE_USES_SDOT
#if HWY_TARGET == HWY_NEON && (defined(N_NEON) || defined(__ARM_FEATURE_DOTPROD))
#define HALFTONE_USES_SDOT 1
#else
#define HALFTONE_USES_SDOT 0
#endif

/// Whether they use those of VNNI, which multiply unsigned bytes above 127 exactly: on AVX3_DL, and
/// on AVX2_VNNI, where dot_pass-inl.h defines the instruction.
#undef HALFTONE_USES_VNNI
#if HWY_TARGET == HWY_AVX3_DL || (HWY_TARGET == HWY_AVX2 && defined(HALFTONE_VPDPBUSD))
#define HALFTONE_USES_VNNI 1
#else
#define HALFTONE_USES_VNNI 0
#endif

#undef HALFTONE_SUMS_SHORTS
#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_SSE4 || \
    (HWY_TARGET == HWY_AVX2 && !HALFTONE_USES_VNNI)
#define HALFTONE_SUMS_SHORTS 1
#else
#define HALFTONE_SUMS_SHORTS 0
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether products of bytes are exact for levels above 127, if LessOffset<kLevelOffset>() of them
/// is multiplied.
constexpr bool kMultipliesLargeLevels =
    HALFTONE_USES_VNNI || HWY_TARGET == HWY_NEON || HWY_TARGET == HWY_SCALAR;
/// What is subtracted from levels some of which are above 127.
constexpr int kLevelOffset = HWY_TARGET == HWY_NEON ? 128 : 0;

/// Whether the target has AddSmallProducts(), because sums of 16 bits are faster there.
constexpr bool kSumsShorts = HALFTONE_SUMS_SHORTS;

#if HWY_TARGET != HWY_SCALAR

using DBytes = hn::CappedTag<std::uint8_t, 64>;
using DSigned = hn::RebindToSigned<DBytes>;
using DShorts = hn::RepartitionToWide<DBytes>;
using DInts = hn::Repartition<std::int32_t, DBytes>;
using VBytes = hn::Vec<DBytes>;
using VSigned = hn::Vec<DSigned>;
using VShorts = hn::Vec<DShorts>;
using VInts = hn::Vec<DInts>;

#if HWY_TARGET == HWY_AVX2
/// AddInPlace() in 16 bits.
HWY_INLINE VShorts AddShortsInPlace(VShorts acc, __m256i v) {
#if HWY_COMPILER_GCC_ACTUAL
  asm("vpaddw %1, %0, %0" : "+x"(acc.raw) : "x"(v));
  return acc;
#else
  return hn::Add(acc, VShorts{v});
#endif
}
#endif

/// u - kOffset, 0 or 128, as AddByteProducts() takes it.
template <int kOffset>
HWY_INLINE VBytes LessOffset(VBytes u) {
  static_assert(kOffset == 0 || kOffset == 128);
  if constexpr (kOffset == 0) return u;
  return hn::Xor(u, hn::Set(DBytes(), std::uint8_t{128}));
}

/// acc + the sums of the products u x of four neighbouring bytes. Exact for u <= 127, so that
/// the sum of two products fits 16 bits; with VNNI for u <= 255. NEON reads the bits of u
/// as a number with a sign: it is exact for u - 128 too.
HALFTONE_VNNI HWY_INLINE VInts AddByteProducts(VInts acc, VBytes u, VSigned x) {
#if HWY_TARGET == HWY_AVX3_DL
  return VInts{_mm512_dpbusd_epi32(acc.raw, u.raw, x.raw)};
#elif HWY_TARGET == HWY_AVX3
  const __m512i pairs = _mm512_maddubs_epi16(u.raw, x.raw);
  return hn::Add(acc, VInts{_mm512_madd_epi16(pairs, _mm512_set1_epi16(1))});
#elif HWY_TARGET == HWY_AVX2 && HALFTONE_USES_VNNI
  asm(HALFTONE_VPDPBUSD " %2, %1, %0" : "+x"(acc.raw) : "x"(u.raw), "x"(x.raw));
  return acc;
#elif HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_maddubs_epi16(u.raw, x.raw);
  return AddInPlace(acc, _mm256_madd_epi16(pairs, _mm256_set1_epi16(1)));
#elif HWY_TARGET == HWY_SSE4
  const __m128i pairs = _mm_maddubs_epi16(u.raw, x.raw);
  return hn::Add(acc, VInts{_mm_madd_epi16(pairs, _mm_set1_epi16(1))});
#elif HALFTONE_USES_SDOT
  return VInts{vdotq_s32(acc.raw, vreinterpretq_s8_u8(u.raw), x.raw)};
#elif HWY_TARGET == HWY_NEON
  const int8x16_t level = vreinterpretq_s8_u8(u.raw);
  const int16x8_t lower = vmull_s8(vget_low_s8(level), vget_low_s8(x.raw));
  const int16x8_t upper = vmull_high_s8(level, x.raw);
  // The sum of two products (-128)^2 needs more than 16 bits.
  const int32x4_t pairs = vpaddq_s32(vpaddlq_s16(lower), vpaddlq_s16(upper));
  return VInts{vaddq_s32(acc.raw, pairs)};
#else
  const hn::RepartitionToWide<DSigned> d16;
  const auto shorts = hn::BitCast(DShorts(), u);
  const auto q = hn::BitCast(d16, x);
  const auto even = hn::Mul(hn::BitCast(d16, hn::And(shorts, hn::Set(DShorts(), 255))),
                            hn::ShiftRight<8>(hn::ShiftLeft<8>(q)));
  const auto odd = hn::Mul(hn::BitCast(d16, hn::ShiftRight<8>(shorts)), hn::ShiftRight<8>(q));
  const auto pairs = hn::BitCast(DInts(), hn::Add(even, odd));
  return hn::Add(acc,
                 hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs)), hn::ShiftRight<16>(pairs)));
#endif
}

/// acc + the sums of the products of two neighbouring numbers of 16 bits, in vectors of bytes.
HALFTONE_VNNI HWY_INLINE VInts AddShortProducts(VInts acc, VBytes u, VSigned x) {
  return AddPairProducts(acc, hn::BitCast(DInts(), u), hn::BitCast(DInts(), x));
}

#if HALFTONE_SUMS_SHORTS

/// Products of two bytes, u <= 15, of which so many fit 16 bits with a sign.
constexpr std::size_t kSmallQuads = 8;
static_assert(kSmallQuads * 2 * 15 * 128 < 1 << 15);

/// acc + the sums of the products u x of two neighbouring bytes, in 16 bits with a sign.
HWY_INLINE VShorts AddSmallProducts(VShorts acc, VBytes u, VSigned x) {
#if HWY_TARGET == HWY_AVX3
  return hn::Add(acc, VShorts{_mm512_maddubs_epi16(u.raw, x.raw)});
#elif HWY_TARGET == HWY_AVX2
  return AddShortsInPlace(acc, _mm256_maddubs_epi16(u.raw, x.raw));
#else
  return hn::Add(acc, VShorts{_mm_maddubs_epi16(u.raw, x.raw)});
#endif
}

/// Sums of four neighbouring products from those of two, times a factor.
HWY_INLINE VInts WidenSmallSums(VShorts sums, VShorts factor) {
#if HWY_TARGET == HWY_AVX3
  return VInts{_mm512_madd_epi16(sums.raw, factor.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VInts{_mm256_madd_epi16(sums.raw, factor.raw)};
#else
  return VInts{_mm_madd_epi16(sums.raw, factor.raw)};
#endif
}

#endif

/// Four bytes that AddByteProducts() and AddShortProducts() multiply with every four of a vector.
#if HALFTONE_USES_SDOT
using Quad = hn::Vec<hn::CappedTag<std::int8_t, 4>>;  // sdot itself repeats it
#else
using Quad = VSigned;
#endif

HWY_INLINE Quad LoadQuad(const std::int8_t* from) {
  std::int32_t four;
  std::memcpy(&four, from, sizeof(four));
#if HALFTONE_USES_SDOT
  return Quad{vcreate_s8(static_cast<std::uint32_t>(four))};
#else
  return hn::BitCast(DSigned(), hn::Set(DInts(), four));
#endif
}

#if HALFTONE_USES_SDOT

HWY_INLINE VInts AddByteProducts(VInts acc, VBytes u, Quad x) {
  return VInts{vdotq_lane_s32(acc.raw, vreinterpretq_s8_u8(u.raw), x.raw, 0)};
}

HWY_INLINE VInts AddShortProducts(VInts acc, VBytes u, Quad x) {
  const int32x4_t repeated = vdupq_lane_s32(vreinterpret_s32_s8(x.raw), 0);
  return AddShortProducts(acc, u, VSigned{vreinterpretq_s8_s32(repeated)});
}

#endif

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
