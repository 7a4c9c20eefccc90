// SPDX-License-Identifier: Apache-2.0
// plane_matmul() for PlaneLayout::kSubsetTables. The subsets of five inputs have 32 sums of 16
// bits: a table in which AVX-512 looks up five bits of the weights of 32 outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/plane_subset_tables.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/int8_matmul/plane_rows-inl.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Inputs of a table, and its entries.
constexpr std::size_t kTableInputs = 5;
constexpr std::size_t kEntries = 32;
/// For each five inputs of a piece: the sums of those whose bits are set in the index.
using SubsetTables = std::int16_t[3][kEntries];

/// [i][b]: all ones if bit i of b is set.
struct SubsetMasks {
  alignas(64) std::int16_t masks[kTableInputs][kEntries];
};
constexpr SubsetMasks make_subset_masks() {
  SubsetMasks m{};
  for (std::size_t i = 0; i < kTableInputs; ++i) {
    for (std::size_t b = 0; b < kEntries; ++b) {
      m.masks[i][b] = static_cast<std::int16_t>((b >> i & 1) != 0 ? -1 : 0);
    }
  }
  return m;
}
constexpr SubsetMasks kSubsetMasks = make_subset_masks();

HWY_INLINE void MakeSubsetTable(const std::int8_t* q, std::int16_t* HWY_RESTRICT table) {
  const hn::CappedTag<std::int16_t, kEntries> d;
  for (std::size_t b = 0; b < kEntries; b += hn::Lanes(d)) {
    auto sum = hn::Zero(d);
    for (std::size_t i = 0; i < kTableInputs; ++i) {
      const auto mask = hn::Load(d, kSubsetMasks.masks[i] + b);
      sum = hn::Add(sum, hn::And(mask, hn::Set(d, std::int16_t{q[i]})));
    }
    hn::Store(sum, d, table + b);
  }
}

using D = hn::CappedTag<std::uint32_t, 16>;

#if HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL

HWY_INLINE __m512i LoadTable(const std::int16_t* table) {
  return Keep(hn::Load(hn::CappedTag<std::int16_t, kEntries>(), table)).raw;
}

/// Adds the products of two planes, or of the last one. Per piece: three loads of tables; and for
/// each block and plane one load, two shifts, three look-ups, three additions; a run of sums fits
/// 16 bits, and then becomes products of 32 bits with the coefficients of both planes.
/// @param tables  [pieces]
template <std::size_t kBlocks, std::size_t kPlanes>
HWY_INLINE void AddPlanes(const SubsetTables* HWY_RESTRICT tables,
                          const GroupPlanes<kBlocks>& planes, std::size_t first,
                          Products<D>* products) {
  constexpr std::size_t kRun = 16;
  static_assert(kRun * 3 * kTableInputs * 128 < 1 << 15);
  for (std::size_t begin = 0; begin < planes.pieces; begin += kRun) {
    const std::size_t end = std::min(begin + kRun, planes.pieces);
    __m512i run[kBlocks][2];
    for (auto& sums : run) sums[0] = sums[1] = _mm512_setzero_si512();
    for (std::size_t p = begin; p < end; ++p) {
      const __m512i first_table = LoadTable(tables[p][0]);
      const __m512i second_table = LoadTable(tables[p][1]);
      const __m512i third_table = LoadTable(tables[p][2]);
      for (std::size_t i = 0; i < kBlocks * kPlanes; ++i) {
        const std::uint8_t* words = planes.panels[i / kPlanes] +
                                    (first + i % kPlanes) * planes.plane_bytes + p * 2 * kBlock;
        PrefetchFar(words + planes.ahead, 2 * kBlock);
        const __m512i bits =
            Keep(hn::LoadU(D(), reinterpret_cast<const std::uint32_t*>(words))).raw;
        const __m512i first_sum = _mm512_permutexvar_epi16(bits, first_table);
        const __m512i second = _mm512_permutexvar_epi16(_mm512_srli_epi16(bits, 5), second_table);
        const __m512i third = _mm512_permutexvar_epi16(_mm512_srli_epi16(bits, 10), third_table);
        __m512i& sum = run[i / kPlanes][i % kPlanes];
        sum = _mm512_add_epi16(sum, _mm512_add_epi16(first_sum, _mm512_add_epi16(second, third)));
      }
    }
    for (std::size_t b = 0; b < kBlocks; ++b) {
      const std::uint8_t* k = planes.coefficients[b] + first * kBlock;
      for (std::size_t half = 0; half < 2; ++half) {
        const __m512i pairs = half == 0 ? _mm512_unpacklo_epi16(run[b][0], run[b][1])
                                        : _mm512_unpackhi_epi16(run[b][0], run[b][1]);
        const auto* bytes = reinterpret_cast<const __m256i*>(k + half * kBlock);
        const __m512i factors = _mm512_cvtepu8_epi16(_mm256_loadu_si256(bytes));
        products[b][half] =
            hn::Add(products[b][half], hn::Vec<D>{_mm512_madd_epi16(pairs, factors)});
      }
    }
  }
}

template <std::size_t kBlocks>
HWY_INLINE void AddAllPlanes(const SubsetTables* tables, const GroupPlanes<kBlocks>& planes,
                             Products<D>* products) {
  std::size_t j = 0;
  for (; j + 2 <= planes.num_planes; j += 2) AddPlanes<kBlocks, 2>(tables, planes, j, products);
  if (j < planes.num_planes) AddPlanes<kBlocks, 1>(tables, planes, j, products);
}

#else

/// As above, for tests: no other target prefers this layout.
template <std::size_t kBlocks>
HWY_INLINE void AddAllPlanes(const SubsetTables* tables, const GroupPlanes<kBlocks>& planes,
                             Products<D>* products) {
  for (std::size_t b = 0; b < kBlocks; ++b) {
    std::uint32_t sums[kBlock] = {};
    for (std::size_t j = 0; j < planes.num_planes; ++j) {
      const std::uint8_t* k = planes.coefficients[b] + j / 2 * 2 * kBlock + j % 2;
      for (std::size_t i = 0; i < planes.pieces * kBlock; ++i) {
        const std::size_t o = i % kBlock;
        const std::size_t lane = i / kBlock * kBlock + fives_lane(o);
        std::uint16_t bits;
        std::memcpy(&bits, planes.panels[b] + j * planes.plane_bytes + lane * sizeof(bits),
                    sizeof(bits));
        const SubsetTables& table = tables[i / kBlock];
        const int sum = table[0][bits & 31] + table[1][bits >> 5 & 31] + table[2][bits >> 10 & 31];
        sums[o] += static_cast<std::uint32_t>(sum * k[2 * o]);
      }
    }
    for (std::size_t v = 0; v < kVectors<D>; ++v) {
      products[b][v] = hn::Add(products[b][v], hn::LoadU(D(), sums + v * hn::MaxLanes(D())));
    }
  }
}

#endif

struct Fives {
  static constexpr const PlaneFormat& kFormat = kFivesFormat;
  static constexpr std::uint32_t kBias = 0;
  using D = HWY_NAMESPACE::D;
  struct Tables {
    alignas(64) SubsetTables pieces[kFivesFormat.max_pieces];
  };
  static HWY_INLINE void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables) {
    for (std::size_t t = 0; t < 3; ++t) MakeSubsetTable(q + t * kTableInputs, tables.pieces[p][t]);
  }
  static constexpr std::size_t kBlocks = 4;
  template <std::size_t kCount>
  static HWY_INLINE void Sum(const Tables& tables, const GroupPlanes<kCount>& planes,
                             Products<D>* products) {
    AddAllPlanes(tables.pieces + planes.first_piece, planes, products);
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

HALFTONE_EXPORT(PlaneMatmulFives);
HALFTONE_EXPORT(LooksUpFives);

void plane_matmul_fives(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH(PlaneMatmulFives)(x, weights, blocks, y);
}

bool looks_up_fives() noexcept { return HALFTONE_DISPATCH(LooksUpFives)(); }

}  // namespace halftone::kernels
#endif  // HWY_ONCE
