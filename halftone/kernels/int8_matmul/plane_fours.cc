// SPDX-License-Identifier: Apache-2.0
// plane_matmul() for PlaneLayout::kFours. The subsets of four inputs have 16 sums of 10 bits, which
// form two tables of 16 digits of 5 bits. One look-up processes four bits of the weights of 32
// outputs.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/plane_fours.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/int8_matmul/plane_matmul.h"
#include "halftone/kernels/int8_matmul/plane_rows-inl.h"
#include "halftone/kernels/keep-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

/// Added to every entry, so that none is negative: 4 x 128.
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

using D = hn::CappedTag<std::uint32_t, 1>;

HWY_INLINE void AddPlane(const FoursTables* tables, const std::uint8_t* panel, std::size_t pieces,
                         const std::uint8_t* k, Products<D>& products) {
  std::uint32_t sums[kBlock] = {};
  for (std::size_t p = 0; p < pieces; ++p) {
    for (std::size_t lane = 0; lane < kBlock; ++lane) {
      const unsigned bits = panel[p * kBlock + lane];
      const unsigned low = tables[p][0][0][bits & 15] + unsigned{tables[p][1][0][bits >> 4]};
      const unsigned high = tables[p][0][1][bits & 15] + unsigned{tables[p][1][1][bits >> 4]};
      sums[lane] += low + (high << kDigitBits);
    }
  }
  for (std::size_t o = 0; o < kBlock; ++o) {
    products[o] = hn::Add(products[o], hn::Set(D(), k[o] * sums[fours_lane(o)]));
  }
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
using D = hn::CappedTag<std::uint32_t, kBlock / 4>;
using VInts = hn::Vec<D>;

/// products + k (low + 2^5 high).
/// @param digits  pairs of 16 bits: low, high
/// @param k       of the outputs of the vector
HWY_INLINE VInts AddProducts(VInts products, VShorts digits, const std::uint8_t* k) {
  const D d;
  const VInts factors = hn::PromoteTo(d, hn::LoadU(hn::Rebind<std::uint8_t, D>(), k));
#if HWY_ARCH_X86 && HWY_TARGET != HWY_EMU128
  // One instruction multiplies and adds up pairs of 16 bits.
  const hn::RebindToSigned<D> di;
  const hn::RebindToSigned<DShorts> d16;
  const VInts both = hn::Or(factors, hn::ShiftLeft<16 + kDigitBits>(factors));
  auto unused = hn::Zero(di);
  return hn::BitCast(
      d, hn::ReorderWidenMulAccumulate(di, hn::BitCast(d16, digits), hn::BitCast(d16, both),
                                       hn::BitCast(di, products), unused));
#else
  const VInts pairs = hn::BitCast(d, digits);
  const VInts low = hn::And(pairs, hn::Set(d, 0xFFFF));
  const VInts high = hn::ShiftLeft<kDigitBits>(hn::ShiftRight<16>(pairs));
  return hn::Add(products, hn::Mul(factors, hn::Add(low, high)));
#endif
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

/// Adds the products of a plane. Per piece: five loads, four look-ups, four additions. The digits
/// of a step fit a byte (8 x 31), those of a chunk 15 bits.
/// @param tables  [pieces]
/// @param panel   [pieces, 32]
/// @param k       [32]
HWY_INLINE void AddPlane(const FoursTables* HWY_RESTRICT tables,
                         const std::uint8_t* HWY_RESTRICT panel, std::size_t pieces,
                         const std::uint8_t* HWY_RESTRICT k, Products<D>& products) {
  static_assert(2 * kFoursFormat.step * kLowDigit <= 255);
  static_assert(2 * kFoursFormat.max_pieces * kLowDigit < 1 << 15);
  constexpr std::size_t kLanes = hn::MaxLanes(DBytes());
  constexpr std::size_t kInts = hn::MaxLanes(D());
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
    const auto add = [&](std::size_t o, VShorts digits) HWY_ATTR {
      products[o / kInts] = AddProducts(products[o / kInts], digits, k + o);
    };
    const std::size_t o = lane / 4;
    add(o, hn::InterleaveLower(DShorts(), low.Even(), high.Even()));
    add(o + 8, hn::InterleaveUpper(DShorts(), low.Even(), high.Even()));
    add(o + 16, hn::InterleaveLower(DShorts(), low.odd, high.odd));
    add(o + 24, hn::InterleaveUpper(DShorts(), low.odd, high.odd));
  }
}

#endif  // HWY_TARGET == HWY_SCALAR

struct Fours {
  static constexpr const PlaneFormat& kFormat = kFoursFormat;
  static constexpr std::uint32_t kBias = 2 * kFoursBias;
  using D = HWY_NAMESPACE::D;
  struct Tables {
    alignas(64) FoursTables pieces[kFoursFormat.max_pieces];
  };
  static HWY_INLINE void MakePiece(const std::int8_t* q, std::size_t p, Tables& tables) {
    MakeFoursTable(q, tables.pieces[p][0][0]);
    MakeFoursTable(q + 4, tables.pieces[p][1][0]);
  }
  static constexpr std::size_t kBlocks = 1;
  template <std::size_t kCount>
  static HWY_INLINE void Sum(const Tables& tables, const GroupPlanes<kCount>& planes,
                             Products<D>* products) {
    static_assert(kCount == 1);
    for (std::size_t j = 0; j < planes.num_planes; ++j) {
      AddPlane(tables.pieces + planes.first_piece, planes.panels[0] + j * planes.plane_bytes,
               planes.pieces, planes.coefficients[0] + j * kBlock, products[0]);
    }
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

HALFTONE_EXPORT(PlaneMatmulFours);

void plane_matmul_fours(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH(PlaneMatmulFours)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
