// SPDX-License-Identifier: Apache-2.0
// plane_matmul() for PlaneLayout::kFives. The subsets of five inputs have 32 sums of 16 bits: a
// table in which AVX-512 looks up five bits of the weights of 32 outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/plane_fives.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/int8_matmul/plane_layouts.h"
#include "halftone/kernels/int8_matmul/plane_rows-inl.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Inputs of a table, and its entries.
constexpr std::size_t kTableInputs = 5;
constexpr std::size_t kEntries = 32;
/// For each five inputs of a piece: the sums of those whose bits are set in the index.
using FivesTables = std::int16_t[3][kEntries];

/// [i][b]: all ones if bit i of b is set.
struct FivesMasks {
  alignas(64) std::int16_t masks[kTableInputs][kEntries];
};
constexpr FivesMasks make_fives_masks() {
  FivesMasks m{};
  for (std::size_t i = 0; i < kTableInputs; ++i) {
    for (std::size_t b = 0; b < kEntries; ++b) {
      m.masks[i][b] = static_cast<std::int16_t>((b >> i & 1) != 0 ? -1 : 0);
    }
  }
  return m;
}
constexpr FivesMasks kFivesMasks = make_fives_masks();

HWY_INLINE void MakeFivesTable(const std::int8_t* q, std::int16_t* HWY_RESTRICT table) {
  const hn::CappedTag<std::int16_t, kEntries> d;
  for (std::size_t b = 0; b < kEntries; b += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < kTableInputs; ++i) {
      const auto mask = hn::Load(d, kFivesMasks.masks[i] + b);
      sum = hn::Add(sum, hn::And(mask, hn::Set(d, std::int16_t{q[i]})));
    }
    hn::Store(sum, d, table + b);
  }
}

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

/// The sums of 32 outputs of each block. Per piece: three loads of tables; and for each block one
/// load, two shifts, three look-ups, three additions; a run of sums fits 16 bits.
/// @param tables  [pieces]
/// @param panels  [kCount] of [pieces, 32]
/// @param ahead   prefetch distance in bytes
template <std::size_t kCount, class Use>
HWY_INLINE void SumUp(const FivesTables* HWY_RESTRICT tables, const std::uint8_t* const* panels,
                      std::size_t pieces, std::size_t ahead, const Use* use) {
  constexpr std::size_t kRun = 16;
  static_assert(kRun * 3 * kTableInputs * 127 < 1 << 15);
  const hn::CappedTag<std::uint32_t, 16> d;
  __m512i low[kCount];
  __m512i high[kCount];
  for (std::size_t b = 0; b < kCount; ++b) low[b] = high[b] = _mm512_setzero_si512();
  for (std::size_t begin = 0; begin < pieces; begin += kRun) {
    const std::size_t end = std::min(begin + kRun, pieces);
    __m512i run[kCount];
    for (__m512i& sum : run) sum = _mm512_setzero_si512();
    for (std::size_t p = begin; p < end; ++p) {
      const __m512i first_table = _mm512_load_si512(tables[p][0]);
      const __m512i second_table = _mm512_load_si512(tables[p][1]);
      const __m512i third_table = _mm512_load_si512(tables[p][2]);
      for (std::size_t b = 0; b < kCount; ++b) {
        const std::uint8_t* words = panels[b] + p * 2 * kBlock;
        PrefetchFar(words + ahead, 2 * kBlock);
        const __m512i bits = Keep(hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(words))).raw;
        const __m512i first = _mm512_permutexvar_epi16(bits, first_table);
        const __m512i second = _mm512_permutexvar_epi16(_mm512_srli_epi16(bits, 5), second_table);
        const __m512i third = _mm512_permutexvar_epi16(_mm512_srli_epi16(bits, 10), third_table);
        run[b] = _mm512_add_epi16(run[b], _mm512_add_epi16(first, _mm512_add_epi16(second, third)));
      }
    }
    for (std::size_t b = 0; b < kCount; ++b) {
      const __m512i lower = _mm512_cvtepi16_epi32(_mm512_castsi512_si256(run[b]));
      const __m512i upper = _mm512_cvtepi16_epi32(_mm512_extracti64x4_epi64(run[b], 1));
      low[b] = _mm512_add_epi32(low[b], lower);
      high[b] = _mm512_add_epi32(high[b], upper);
    }
  }
  for (std::size_t b = 0; b < kCount; ++b) {
    use[b](d, 0, hn::Vec<decltype(d)>{low[b]});
    use[b](d, 16, hn::Vec<decltype(d)>{high[b]});
  }
}

#else

/// As above, for tests: no other target prefers this layout.
template <std::size_t kCount, class Use>
HWY_INLINE void SumUp(const FivesTables* tables, const std::uint8_t* const* panels,
                      std::size_t pieces, std::size_t /*ahead*/, const Use* use) {
  for (std::size_t b = 0; b < kCount; ++b) {
    std::uint32_t sums[kBlock] = {};
    for (std::size_t i = 0; i < pieces * kBlock; ++i) {
      std::uint16_t bits;
      std::memcpy(&bits, panels[b] + i * sizeof(bits), sizeof(bits));
      const FivesTables& table = tables[i / kBlock];
      const int sum = table[0][bits & 31] + table[1][bits >> 5 & 31] + table[2][bits >> 10 & 31];
      sums[i % kBlock] += static_cast<std::uint32_t>(sum);
    }
    const hn::CappedTag<std::uint32_t, kBlock> d;
    for (std::size_t o = 0; o < kBlock; o += hn::Lanes(d)) use[b](d, o, hn::LoadU(d, sums + o));
  }
}

#endif

struct Fives {
  static constexpr const PlaneFormat& kFormat = kFivesFormat;
  static constexpr std::size_t kTables = 3;
  static constexpr std::uint32_t kBias = 0;
  struct Tables {
    alignas(64) FivesTables pieces[kFivesFormat.max_pieces];
  };
  static HWY_INLINE void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables) {
    for (std::size_t t = 0; t < 3; ++t) MakeFivesTable(q + t * kTableInputs, tables.pieces[p][t]);
  }
  static constexpr std::size_t kBlocks = 2;
  template <std::size_t kCount, class Use>
  static HWY_INLINE void Sum(const Tables& tables, std::size_t first,
                             const std::uint8_t* const* panels, std::size_t pieces,
                             std::size_t ahead, const Use* use) {
    SumUp<kCount>(tables.pieces + first, panels, pieces, ahead, use);
  }
};

void PlaneMatmulFives(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                      MatrixView<float> y) {
  PlaneMatmul<Fives>(x, weights, blocks, y);
}

bool LooksUpFives() { return HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL; }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(PlaneMatmulFives);
HWY_EXPORT(LooksUpFives);

void plane_matmul_fives(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HWY_DYNAMIC_DISPATCH(PlaneMatmulFives)(x, weights, blocks, y);
}

bool looks_up_fives() noexcept { return HWY_DYNAMIC_DISPATCH(LooksUpFives)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
