// SPDX-License-Identifier: Apache-2.0
// What both layouts of level_matmul() share: products of bytes, and what becomes of their sums.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_LEVEL_PRODUCTS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_PRODUCTS_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_PRODUCTS_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_LEVEL_PRODUCTS_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/int8_matmul/level_matmul.h"

/// For functions that use the dot products of AVX-512 VNNI, which every processor of AVX3_DL has.
#undef HALFTONE_VNNI
#if HWY_TARGET == HWY_AVX3_DL
// Clang takes these for all the targets of a function, GCC for more of them.
#define HALFTONE_VNNI __attribute__((target(HWY_TARGET_STR ",avx512vnni")))
#else
#define HALFTONE_VNNI
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR

using DBytes = hn::CappedTag<std::uint8_t, 64>;
using DSigned = hn::RebindToSigned<DBytes>;
using DShorts = hn::RepartitionToWide<DBytes>;
using DInts = hn::Repartition<std::int32_t, DBytes>;
using VBytes = hn::Vec<DBytes>;
using VSigned = hn::Vec<DSigned>;
using VInts = hn::Vec<DInts>;
/// acc + the sums of the products of four neighbouring bytes. Levels are at most 127, so that the
/// products of two fit 16 bits; with AVX-512 VNNI they need not.
HALFTONE_VNNI HWY_INLINE VInts AddByteProducts(VInts acc, VBytes levels, VSigned x) {
#if HWY_TARGET == HWY_AVX3_DL
  return VInts{_mm512_dpbusd_epi32(acc.raw, levels.raw, x.raw)};
#elif HWY_TARGET == HWY_AVX3
  const __m512i pairs = _mm512_maddubs_epi16(levels.raw, x.raw);
  return hn::Add(acc, VInts{_mm512_madd_epi16(pairs, _mm512_set1_epi16(1))});
#elif HWY_TARGET == HWY_AVX2
  const __m256i pairs = _mm256_maddubs_epi16(levels.raw, x.raw);
  return hn::Add(acc, VInts{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))});
#elif HWY_TARGET == HWY_SSE4
  const __m128i pairs = _mm_maddubs_epi16(levels.raw, x.raw);
  return hn::Add(acc, VInts{_mm_madd_epi16(pairs, _mm_set1_epi16(1))});
#else
  const hn::RepartitionToWide<DSigned> d16;
  const auto u = hn::BitCast(DShorts(), levels);
  const auto q = hn::BitCast(d16, x);
  const auto even = hn::Mul(hn::BitCast(d16, hn::And(u, hn::Set(DShorts(), 255))),
                            hn::ShiftRight<8>(hn::ShiftLeft<8>(q)));
  const auto odd = hn::Mul(hn::BitCast(d16, hn::ShiftRight<8>(u)), hn::ShiftRight<8>(q));
  const auto pairs = hn::BitCast(DInts(), hn::Add(even, odd));
  return hn::Add(acc,
                 hn::Add(hn::ShiftRight<16>(hn::ShiftLeft<16>(pairs)), hn::ShiftRight<16>(pairs)));
#endif
}

#endif

/// acc += half_step P + center Q of a group and block.
/// @param sums  [32]: sums of u q
/// @param floats  [1 or 2, 32] of the group and block
HWY_INLINE void FoldGroup(const LevelMatmulWeights& weights, const float* HWY_RESTRICT floats,
                          std::int32_t input_sum, const std::int32_t* HWY_RESTRICT sums,
                          float* HWY_RESTRICT acc) {
  constexpr std::size_t kBlock = LevelMatmulWeights::kBlock;
  const hn::CappedTag<float, kBlock> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const auto less = hn::Set(du, static_cast<std::uint32_t>(weights.steps() * input_sum));
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    const auto sum = hn::BitCast(du, hn::LoadU(di, sums + lane));
    const auto p = hn::ConvertTo(d, hn::BitCast(di, hn::Sub(hn::Add(sum, sum), less)));
    auto total = hn::Add(hn::LoadU(d, acc + lane), hn::Mul(hn::LoadU(d, floats + lane), p));
    if (weights.has_offset()) {
      const auto center = hn::LoadU(d, floats + kBlock + lane);
      total = hn::Add(total, hn::Mul(center, hn::Set(d, static_cast<float>(input_sum))));
    }
    hn::StoreU(total, d, acc + lane);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
