// SPDX-License-Identifier: Apache-2.0
// Products of codes of one bit with one row of activations, by look-up: four codes are the index
// of the sum of their four activations. Half the products of bytes that masks need.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_SIGNS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_SIGNS_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_SIGNS_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_SIGNS_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/groups/group_block-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Inputs of a table, and its bytes per input.
constexpr std::size_t kSignInputs = 16;
constexpr std::size_t kSignTableBytes = 8;
/// Bytes of the tables of a block.
constexpr std::size_t kSignBlockBytes = kGroupBlockInputs * kSignTableBytes;

/// Writes a table of 128 bytes for each 16 inputs. Entry 16 i + n of both halves is for byte i of a
/// vector's lanes and the four codes n in it: their sum t = sum_b n_b x[4 b + i], as t mod 128 and,
/// in the second half, 2 floor(t / 128).
HALFTONE_VNNI inline void MakeSignTables(const std::int8_t* HWY_RESTRICT x, std::size_t inputs,
                                         std::uint8_t* HWY_RESTRICT tables) {
  alignas(64) std::uint8_t bits[64];
  for (std::size_t i = 0; i < 64; ++i) bits[i] = i / 4 >> i % 4 & 1;
  const __m512i codes = _mm512_load_si512(bits);
  const __m128i transpose = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  for (std::size_t i = 0; i < inputs; i += kSignInputs, tables += 128) {
    alignas(16) std::int32_t quads[4];
    const __m128i inputs16 = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x + i));
    _mm_store_si128(reinterpret_cast<__m128i*>(quads), _mm_shuffle_epi8(inputs16, transpose));
    for (std::size_t j = 0; j < 4; ++j) {
      const __m512i sums =
          _mm512_dpbusd_epi32(_mm512_setzero_si512(), codes, _mm512_set1_epi32(quads[j]));
      const __m512i low = _mm512_and_si512(sums, _mm512_set1_epi32(127));
      auto* to = reinterpret_cast<__m128i*>(tables + 16 * j);
      _mm_store_si128(to, _mm512_cvtepi32_epi8(low));
      const __m512i high = _mm512_andnot_si512(_mm512_set1_epi32(1), _mm512_srai_epi32(sums, 6));
      _mm_store_si128(to + 4, _mm512_cvtepi32_epi8(high));
    }
  }
}

/// Codes of one bit, whose activations are tables.
struct SignCodes : EvenCodes<1, 0> {
  static constexpr std::size_t kInputBytes = kSignTableBytes;

  using EvenCodes::EvenCodes;

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT tables, VInts* sums) const {
    planes += at;
    static_assert(kPiece.count * 4 == kGroupUnitInputs && kPiece.units == 2);
    const __m512i nibble = _mm512_set1_epi8(15);
    const __m512i position = _mm512_set1_epi32(0x30201000);
    const __m512i twos = _mm512_set1_epi8(2);
    const __m512i large = _mm512_set1_epi8(-128);  // 128, without a sign
    __m512i high[kVectors];
    HALFTONE_UNROLL for (std::size_t unit = 0; unit < kPiece.units; ++unit, tables += 256) {
      __m512i low[kVectors];
      HALFTONE_UNROLL for (std::size_t half = 0; half < 2; ++half) {
        const __m512i low_table = _mm512_load_si512(tables + half * 128);
        const __m512i high_table = _mm512_load_si512(tables + half * 128 + 64);
        HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
          __m512i bytes = _mm512_load_si512(planes + unit * kUnitBytes + v * kGroupBytes);
          if (half == 1) bytes = _mm512_srli_epi16(bytes, 4);
          // (bytes & nibble) | position
          const __m512i index = _mm512_ternarylogic_epi32(bytes, nibble, position, 0xEA);
          const __m512i low_sum = _mm512_permutexvar_epi8(index, low_table);
          const __m512i high_sum = _mm512_permutexvar_epi8(index, high_table);
          low[v] = half == 0 ? low_sum : _mm512_add_epi8(low[v], low_sum);  // at most 254
          high[v] = unit + half == 0 ? high_sum : _mm512_add_epi8(high[v], high_sum);
        }
      }
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[v].raw = _mm512_dpbusd_epi32(sums[v].raw, low[v], twos);
      }
    }
    HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v].raw = _mm512_dpbusd_epi32(sums[v].raw, large, high[v]);
    }
  }
};

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#endif  // per-target include guard
