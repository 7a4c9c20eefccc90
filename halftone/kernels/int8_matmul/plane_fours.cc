// SPDX-License-Identifier: Apache-2.0
// plane_matmul() for PlaneLayout::kFours. The subsets of four inputs have 16 sums of 10 bits, which
// form two tables of 16 digits of 5 bits. One look-up processes four bits of the weights of 32
// outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/plane_fours.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/int8_matmul/plane_layouts.h"
#include "halftone/kernels/int8_matmul/plane_rows-inl.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Added to every entry, so that none is negative: at least 4 x 127.
constexpr std::int16_t kFoursBias = 512;
constexpr int kDigitBits = 5;
constexpr std::int16_t kLowDigit = (1 << kDigitBits) - 1;

/// For the lower and the upper four inputs of a piece: the lower and the upper digit of kFoursBias
/// + the sum of those inputs whose bits are set in the index.
using FoursTables = std::uint8_t[2][2][16];

/// [i][b]: all ones if bit i of b is set.
struct FoursMasks {
  alignas(32) std::int16_t masks[4][16];
};
constexpr FoursMasks make_fours_masks() {
  FoursMasks m{};
  for (int i = 0; i < 4; ++i) {
    for (int b = 0; b < 16; ++b) m.masks[i][b] = static_cast<std::int16_t>(-(b >> i & 1));
  }
  return m;
}
constexpr FoursMasks kFoursMasks = make_fours_masks();

HWY_INLINE void MakeFoursTable(const std::int8_t* q, std::uint8_t* HWY_RESTRICT table) {
  const hn::CappedTag<std::int16_t, 16> d;
  const hn::Rebind<std::uint8_t, decltype(d)> d8;
  for (std::size_t b = 0; b < 16; b += hn::Lanes(d)) {
    auto sum = hn::Set(d, kFoursBias);
    for (std::size_t i = 0; i < 4; ++i) {
      const auto mask = hn::Load(d, kFoursMasks.masks[i] + b);
      sum = hn::Add(sum, hn::And(mask, hn::Set(d, std::int16_t{q[i]})));
    }
    hn::StoreU(hn::DemoteTo(d8, hn::And(sum, hn::Set(d, kLowDigit))), d8, table + b);
    hn::StoreU(hn::DemoteTo(d8, hn::ShiftRight<kDigitBits>(sum)), d8, table + 16 + b);
  }
}

#if HWY_TARGET == HWY_SCALAR

template <class Use>
HWY_INLINE void SumUp(const FoursTables* tables, const std::uint8_t* panel, std::size_t pieces,
                      const Use& use) {
  std::uint32_t sums[kBlock] = {};
  for (std::size_t p = 0; p < pieces; ++p) {
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      const unsigned bits = panel[p * kBlock + lane];
      const unsigned low = tables[p][0][0][bits & 15] + unsigned{tables[p][1][0][bits >> 4]};
      const unsigned high = tables[p][0][1][bits & 15] + unsigned{tables[p][1][1][bits >> 4]};
      sums[lane / 2 + lane % 2 * 16] += low + (high << kDigitBits);
    }
  }
  const hn::CappedTag<std::uint32_t, 1> d;
  for (std::size_t o = 0; o < kBlock; ++o) use(d, o, hn::Set(d, sums[o]));
}

#else

using DBytes = hn::CappedTag<std::uint8_t, kBlock>;
using DShorts = hn::RepartitionToWide<DBytes>;
using VBytes = hn::Vec<DBytes>;
using VShorts = hn::Vec<DShorts>;

/// Sums of digits of the even and the odd bytes of vectors.
struct DigitSums {
  VShorts both;  ///< even + 256 odd, modulo 2^16
  VShorts odd;

  HWY_INLINE DigitSums() : both(hn::Zero(DShorts())), odd(hn::Zero(DShorts())) {}
  HWY_INLINE void Add(VBytes digits) {
    const VShorts pairs = hn::BitCast(DShorts(), digits);
    both = hn::Add(both, pairs);
    odd = hn::Add(odd, hn::ShiftRight<8>(pairs));
  }
  [[nodiscard]] HWY_INLINE VShorts Even() const { return hn::Sub(both, hn::ShiftLeft<8>(odd)); }
};

/// Prefetch distance in bytes.
constexpr std::size_t kAhead = 2048;
/// Pieces whose sums fit 16 bits after their digits are combined.
constexpr std::size_t kFewPieces = 32;
static_assert(2 * kFewPieces * 1023 < 1 << 16);

/// use(low + 2^5 high), the sums of the outputs from o on.
template <class Use>
HWY_INLINE void Widen(VShorts low, VShorts high, bool few, std::size_t o, const Use& use) {
  const hn::Half<DShorts> half;
  const hn::Rebind<std::uint32_t, decltype(half)> d;
  constexpr std::size_t kHalf = hn::MaxLanes(half);
  if (few) low = hn::Add(low, hn::ShiftLeft<kDigitBits>(high));
  auto lower = hn::PromoteTo(d, hn::LowerHalf(half, low));
  auto upper = hn::PromoteTo(d, hn::UpperHalf(half, low));
  if (!few) {
    const auto digits = [&](auto v) { return hn::ShiftLeft<kDigitBits>(hn::PromoteTo(d, v)); };
    lower = hn::Add(lower, digits(hn::LowerHalf(half, high)));
    upper = hn::Add(upper, digits(hn::UpperHalf(half, high)));
  }
  use(d, o, lower);
  use(d, o + kHalf, upper);
}

/// Adds to `low` and `high` the digits of one piece.
HWY_INLINE void LookUp(const std::uint8_t* HWY_RESTRICT bits,
                       const std::uint8_t (*HWY_RESTRICT tables)[2][16], VBytes& low,
                       VBytes& high) {
  const DBytes d;
  const VBytes low_bits = hn::Set(d, std::uint8_t{15});
  const VBytes piece = Keep(hn::Load(d, bits));
  const VBytes lower = hn::And(piece, low_bits);
  const VBytes upper =
      hn::And(hn::BitCast(d, hn::ShiftRight<4>(hn::BitCast(DShorts(), piece))), low_bits);
  low = hn::Add(low, hn::TableLookupBytes(hn::LoadDup128(d, tables[0][0]), lower));
  high = hn::Add(high, hn::TableLookupBytes(hn::LoadDup128(d, tables[0][1]), lower));
  low = Keep(hn::Add(low, hn::TableLookupBytes(hn::LoadDup128(d, tables[1][0]), upper)));
  high = Keep(hn::Add(high, hn::TableLookupBytes(hn::LoadDup128(d, tables[1][1]), upper)));
}

/// The sums of 32 outputs. Per piece: five loads, four look-ups, four additions. The digits of a
/// step fit a byte (8 x 31), those of a chunk 16 bits.
/// @param tables  [pieces]
/// @param panel   [pieces, 32]
template <class Use>
HWY_INLINE void SumUp(const FoursTables* HWY_RESTRICT tables,
                      const std::uint8_t* HWY_RESTRICT panel, std::size_t pieces, const Use& use) {
  static_assert(2 * kFoursFormat.step * kLowDigit <= 255);
  static_assert(2 * kFoursFormat.max_pieces * kLowDigit < 1 << 16);
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  for (std::size_t lane = 0; lane < kBlock; lane += kLanes) {
    DigitSums low;
    DigitSums high;
    for (std::size_t p = 0; p < pieces; p += kFoursFormat.step) {
      VBytes low_step = hn::Zero(DBytes());
      VBytes high_step = hn::Zero(DBytes());
      Prefetch(panel + p * kBlock + kAhead, kFoursFormat.step * kBlock);
      for (std::size_t i = 0; i < kFoursFormat.step; ++i) {
        LookUp(panel + (p + i) * kBlock + lane, tables[p + i], low_step, high_step);
      }
      low.Add(low_step);
      high.Add(high_step);
    }
    const bool few = pieces <= kFewPieces;
    Widen(low.Even(), high.Even(), few, lane / 2, use);
    Widen(low.odd, high.odd, few, kBlock / 2 + lane / 2, use);
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

struct Fours {
  static constexpr const PlaneFormat& kFormat = kFoursFormat;
  static constexpr std::size_t kTables = 2;
  static constexpr std::uint32_t kBias = kFoursBias;
  struct Tables {
    alignas(64) FoursTables pieces[kFoursFormat.max_pieces];
  };
  static HWY_INLINE void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables) {
    MakeFoursTable(q, tables.pieces[p][0][0]);
    MakeFoursTable(q + 4, tables.pieces[p][1][0]);
  }
  static constexpr std::size_t kBlocks = 1;
  template <std::size_t kCount, class Use>
  static HWY_INLINE void Sum(const Tables& tables, std::size_t first,
                             const std::uint8_t* const* panels, std::size_t pieces,
                             std::size_t /*ahead*/, const Use* use) {
    static_assert(kCount == 1);
    SumUp(tables.pieces + first, panels[0], pieces, use[0]);
  }
};

void PlaneMatmulFours(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                      MatrixView<float> y) {
  PlaneMatmul<Fours>(x, weights, blocks, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(PlaneMatmulFours);

void plane_matmul_fours(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HWY_DYNAMIC_DISPATCH(PlaneMatmulFours)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
