// SPDX-License-Identifier: Apache-2.0
// level_matmul() for LevelLayout::kThreeBits: 512 codes of an output in three vectors of 64 bytes,
// looked up in the table of that output, times 512 activations.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/level_three_bits.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/int8_matmul/level_layouts.h"
#include "halftone/kernels/int8_matmul/level_rows-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = LevelMatmulWeights;

/// Outputs whose pieces follow each other.
constexpr std::size_t kStrip = Weights::kThreeOutputs;
constexpr std::size_t kPiece = Weights::kThreeInputs;
/// Inputs whose codes are in the same bits of the bytes of a part.
constexpr std::size_t kRun = kPiece / 8;
constexpr std::size_t kPieceBytes = 3 * kRun;
constexpr std::size_t kTable = Weights::kTableBytes;

#if HWY_TARGET == HWY_SCALAR

void SumThrees(const StripCodes& codes, const PieceInputs& x, std::int32_t* sums) {
  std::fill_n(sums, kStrip, 0);
  const std::size_t pieces = x.whole_pieces + (x.rest != nullptr ? 1 : 0);
  const std::uint8_t* code = codes.first;
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int8_t* q = p < x.whole_pieces ? x.whole + p * kPiece : x.rest;
    for (std::size_t o = 0; o < kStrip; ++o, code += kPieceBytes) {
      const std::uint8_t* table = codes.tables + o * kTable;
      for (std::size_t i = 0; i < kRun; ++i) {
        int pairs[4] = {code[i], code[kRun + i], code[2 * kRun + i], 0};
        for (int part = 0; part < 3; ++part) pairs[3] |= pairs[part] >> 6 << 2 * part;
        for (std::size_t pair = 0; pair < 4; ++pair) {
          sums[o] += table[pairs[pair] & 7] * q[2 * pair * kRun + i];
          sums[o] += table[pairs[pair] >> 3 & 7] * q[(2 * pair + 1) * kRun + i];
        }
      }
    }
  }
}

#else

constexpr std::size_t kVectorBytes = hn::MaxLanes(DBytes());
/// Sums of an output that do not wait for each other; the 16 registers of AVX2 hold one.
constexpr std::size_t kSums = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 2 : 1;

/// Shifts 16 bits at a time: the upper bits of a byte come from its neighbour.
template <int kBits>
HWY_INLINE VBytes ShiftPairs(VBytes bytes) {
  return hn::BitCast(DBytes(), hn::ShiftRight<kBits>(hn::BitCast(DShorts(), bytes)));
}

#if HWY_TARGET == HWY_AVX3_DL

/// The levels of an output. A look-up takes six bits of a byte, a pair of codes, and ignores the
/// other two: either code has a table in which the other one makes no difference.
struct PairLevels {
  VBytes lower, upper;

  explicit HWY_INLINE PairLevels(const std::uint8_t* table) {
    const DBytes d;
    alignas(64) std::uint8_t upper_codes[64];
    for (std::size_t i = 0; i < 64; ++i) upper_codes[i] = static_cast<std::uint8_t>(i / 8);
    lower = hn::LoadDup128(d, table);
    upper = hn::TableLookupBytes(lower, hn::Load(d, upper_codes));
  }

  HWY_INLINE VBytes Lower(VBytes pairs) const {
    return VBytes{_mm512_permutexvar_epi8(pairs.raw, lower.raw)};
  }
  HWY_INLINE VBytes Upper(VBytes pairs) const {
    return VBytes{_mm512_permutexvar_epi8(pairs.raw, upper.raw)};
  }
};

/// Bits where a byte of the mask has ones from a, others from b.
HWY_INLINE VBytes Select(std::uint8_t mask, VBytes a, VBytes b) {
  return VBytes{_mm512_ternarylogic_epi32(hn::Set(DBytes(), mask).raw, a.raw, b.raw, 0xCA)};
}

#else

/// The levels of an output, twice: bit 3 of a code, which belongs to the next one, makes no
/// difference.
struct PairLevels {
  VBytes levels;

  explicit HWY_INLINE PairLevels(const std::uint8_t* table)
      : levels(hn::LoadDup128(DBytes(), table)) {}

  HWY_INLINE VBytes Lower(VBytes pairs) const {
    return hn::TableLookupBytes(levels, hn::And(pairs, hn::Set(DBytes(), std::uint8_t{15})));
  }
  HWY_INLINE VBytes Upper(VBytes pairs) const { return Lower(ShiftPairs<3>(pairs)); }
};

HWY_INLINE VBytes Select(std::uint8_t mask, VBytes a, VBytes b) {
  const VBytes bits = hn::Set(DBytes(), mask);
  return hn::Or(hn::And(bits, a), hn::AndNot(bits, b));
}

#endif

/// Adds the products of a vector of each part of a piece.
/// @param codes  in the first part
/// @param q      the activations of its lower codes
HALFTONE_VNNI HWY_INLINE void AddThrees(const PairLevels& levels,
                                        const std::uint8_t* HWY_RESTRICT codes,
                                        const std::int8_t* HWY_RESTRICT q, VInts (&acc)[kSums]) {
  const DBytes d;
  const auto add_pair = [&](VBytes pairs, std::size_t pair) __attribute__((always_inline))
  HALFTONE_VNNI {
    const std::int8_t* from = q + 2 * pair * kRun;
    VInts& even = acc[0];
    VInts& odd = acc[kSums - 1];
    even = Keep(AddByteProducts(even, levels.Lower(pairs), hn::LoadU(DSigned(), from)));
    odd = Keep(AddByteProducts(odd, levels.Upper(pairs), hn::LoadU(DSigned(), from + kRun)));
  };
  const VBytes first = Keep(hn::LoadU(d, codes));
  const VBytes second = Keep(hn::LoadU(d, codes + kRun));
  const VBytes third = Keep(hn::LoadU(d, codes + 2 * kRun));
  add_pair(first, 0);
  add_pair(second, 1);
  add_pair(third, 2);
  const VBytes lower = Select(3, ShiftPairs<6>(first), ShiftPairs<4>(second));
  add_pair(Select(15, lower, ShiftPairs<2>(third)), 3);
}

/// Adds up blocks of 128 bits.
template <class D>
HWY_INLINE auto AddBlocks(D, hn::Vec<D> v) {
  if constexpr (hn::MaxLanes(D()) == kStrip) {
    return v;
  } else {
    const hn::Half<D> half;
    return AddBlocks(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

/// sums[o] = the products of a group with a strip of outputs. Per vector of each part three loads
/// of codes, three shifts (and seven in look-ups that mask), eight look-ups and dot products.
HALFTONE_VNNI void SumThrees(const StripCodes& codes, const PieceInputs& x,
                             std::int32_t* HWY_RESTRICT sums) {
  static_assert(kStrip == 4);
  const std::uint8_t* tables = codes.tables;
  const PairLevels levels[kStrip] = {PairLevels(tables), PairLevels(tables + kTable),
                                     PairLevels(tables + 2 * kTable),
                                     PairLevels(tables + 3 * kTable)};
  VInts acc[kStrip][kSums];
  for (auto& output : acc) std::fill_n(output, kSums, hn::Zero(DInts()));
  const std::uint8_t* HWY_RESTRICT piece = codes.first;
  const std::size_t pieces = x.whole_pieces + (x.rest != nullptr ? 1 : 0);
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int8_t* HWY_RESTRICT q = p < x.whole_pieces ? x.whole + p * kPiece : x.rest;
    for (std::size_t o = 0; o < kStrip; ++o, piece += kPieceBytes) {
      PrefetchFar(piece + codes.ahead, kPieceBytes);
      for (std::size_t i = 0; i < kRun; i += kVectorBytes) {
        AddThrees(levels[o], piece + i, q + i, acc[o]);
      }
    }
  }
  for (auto& output : acc) {
    if (kSums > 1) output[0] = hn::Add(output[0], output[kSums - 1]);
  }
  const VInts fours = AddFours(acc[0][0], acc[1][0], acc[2][0], acc[3][0]);
  hn::StoreU(AddBlocks(DInts(), fours), hn::CappedTag<std::int32_t, kStrip>(), sums);
}

#endif

void LevelMatmulThrees(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                       MatrixView<float> y) {
  MultiplyByCodes<Strips<kPiece, kStrip, kStrip>>(x, weights, blocks, SumThrees, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(LevelMatmulThrees);

void level_matmul_threes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                         MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH_DOT(LevelMatmulThrees)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
