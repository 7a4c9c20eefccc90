// SPDX-License-Identifier: Apache-2.0
// Products with one row of activations by look-up of sums: of codes of one bit, four of which are
// the index of the sum of their four activations, which takes half the products of bytes that masks
// need; and of codewords, whose halves are the index of the sum of the products with their four
// activations, which takes half the look-ups of their numbers.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_SUMS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_SUMS_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_SUMS_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_SUMS_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/groups/group_block-inl.h"

#if HWY_TARGET == HWY_AVX3_DL

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Puts the i-th of every four bytes beside each other, for each i.
HALFTONE_VNNI HWY_INLINE void LoadTurned(const std::int8_t* HWY_RESTRICT x, std::int32_t* quads) {
  const __m128i transpose = _mm_setr_epi8(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  const __m128i inputs = _mm_loadu_si128(reinterpret_cast<const __m128i*>(x));
  _mm_store_si128(reinterpret_cast<__m128i*>(quads), _mm_shuffle_epi8(inputs, transpose));
}

/// Indices of look-ups: byte i of each lane, whose bits other than the low four are set to 16 i.
HALFTONE_VNNI HWY_INLINE __m512i NibbleIndex(__m512i bytes) {
  const __m512i nibble = _mm512_set1_epi8(15);
  const __m512i position = _mm512_set1_epi32(0x30201000);
  return _mm512_ternarylogic_epi32(bytes, nibble, position, 0xEA);  // (bytes & nibble) | position
}

/// Inputs of a table.
constexpr std::size_t kTableInputs = 16;

/// Codes of one bit, whose activations are tables.
struct SignCodes : EvenCodes<1, 0> {
  static constexpr std::size_t kInputBytes = 8;

  using EvenCodes::EvenCodes;

  /// Writes a table of 128 bytes for each 16 inputs. Entry 16 i + n of both halves is for byte i of
  /// a vector's lanes and the four codes n in it: their sum t = sum_b n_b x[4 b + i], as t mod 128
  /// and, in the second half, 2 floor(t / 128).
  HALFTONE_VNNI void MakeTables(const std::int8_t* HWY_RESTRICT x, std::size_t inputs,
                                std::uint8_t* HWY_RESTRICT tables) const {
    alignas(64) std::uint8_t bits[64];
    for (std::size_t i = 0; i < 64; ++i) bits[i] = i / 4 >> i % 4 & 1;
    const __m512i codes = _mm512_load_si512(bits);
    for (std::size_t i = 0; i < inputs; i += kTableInputs, tables += 128) {
      alignas(16) std::int32_t quads[4];
      LoadTurned(x + i, quads);
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

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT tables, VInts* sums) const {
    planes += at;
    static_assert(kPiece.count * 4 == kGroupUnitInputs && kPiece.units == 2);
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
          const __m512i index = NibbleIndex(bytes);
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

/// Codes of 8 signs for 4 numbers, whose activations are tables. @pre the weights' halves fit
struct CodewordSums {
  static constexpr std::size_t kInputBytes = 16;
  static constexpr std::size_t kUnitBytes = kPlaneVector * 2;
  static constexpr int bias = 0;

  explicit CodewordSums(const PackedGroups& weights) : halves(weights.tables().halves.data()) {}

  /// Writes four tables of 64 bytes for each code vector, 16 inputs. Entry 16 i + n of the first
  /// two is for byte i of a vector's lanes and the low four bits n of its code: the sum t of the
  /// products of their half and the four activations, as t mod 256 and floor(t / 256). The other
  /// two are for the high bits.
  HALFTONE_VNNI void MakeTables(const std::int8_t* HWY_RESTRICT x, std::size_t inputs,
                                std::uint8_t* HWY_RESTRICT tables) const {
    const __m512i numbers[2] = {_mm512_loadu_si512(halves), _mm512_loadu_si512(halves + 64)};
    const __m512i bias_bytes = _mm512_set1_epi8(-128);  // 128, without a sign
    for (std::size_t i = 0; i < inputs; i += kTableInputs, tables += 256) {
      alignas(16) std::int32_t quads[4];
      LoadTurned(x + i, quads);
      for (std::size_t j = 0; j < 4; ++j) {
        const __m512i four = _mm512_set1_epi32(quads[j]);
        const __m512i zero = _mm512_setzero_si512();
        const __m512i less = _mm512_sub_epi32(zero, _mm512_dpbusd_epi32(zero, bias_bytes, four));
        for (std::size_t half = 0; half < 2; ++half) {
          const __m512i sums = _mm512_dpbusd_epi32(less, numbers[half], four);
          auto* to = reinterpret_cast<__m128i*>(tables + 128 * half + 16 * j);
          _mm_store_si128(to, _mm512_cvtepi32_epi8(sums));
          _mm_store_si128(to + 4, _mm512_cvtepi32_epi8(_mm512_srai_epi32(sums, 8)));
        }
      }
    }
  }

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT tables, VInts* sums) const {
    constexpr std::size_t kCodeVectors = kPiece.units * kPiece.count / 4;
    const __m512i ones = _mm512_set1_epi8(1);
    __m512i high[kVectors];
    HALFTONE_UNROLL for (__m512i& sum : high) sum = _mm512_setzero_si512();
    HALFTONE_UNROLL for (std::size_t i = 0; i < kCodeVectors; ++i, tables += 256) {
      __m512i table[4];
      HALFTONE_UNROLL for (std::size_t t = 0; t < 4; ++t) {
        table[t] = _mm512_load_si512(tables + 64 * t);
      }
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        const __m512i bytes = _mm512_load_si512(planes + i * kPlaneVector + at + v * kGroupBytes);
        HALFTONE_UNROLL for (std::size_t half = 0; half < 2; ++half) {
          const __m512i index = NibbleIndex(half == 0 ? bytes : _mm512_srli_epi16(bytes, 4));
          const __m512i low_sum = _mm512_permutexvar_epi8(index, table[2 * half]);
          const __m512i high_sum = _mm512_permutexvar_epi8(index, table[2 * half + 1]);
          sums[v].raw = _mm512_dpbusd_epi32(sums[v].raw, low_sum, ones);
          high[v] = _mm512_dpbusd_epi32(high[v], ones, high_sum);
        }
      }
    }
    HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      sums[v].raw = _mm512_add_epi32(sums[v].raw, _mm512_slli_epi32(high[v], 8));
    }
  }

  const std::uint8_t* halves;
};

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif

#endif  // per-target include guard
