// SPDX-License-Identifier: Apache-2.0
// Products of a block of packed weights with several rows of activations, by one kernel of bytes:
// codes become these in registers, again for each few rows, or once in the first-level cache.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_TILE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_TILE_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_TILE_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_TILE_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "halftone/kernels/groups/group_block-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

/// Rows of activations, and vectors of weight rows, whose sums are in registers at a time.
constexpr std::size_t kTileVectors = HWY_TARGET <= HWY_AVX3 || HALFTONE_USES_SDOT ? 4 : 2;
constexpr std::size_t kTileRows = HWY_TARGET <= HWY_AVX3 ? 3 : 4;
static_assert(kStripVectors % kTileVectors == 0);
/// The same where vectors of codes become bytes in registers.
constexpr std::size_t kCodeTileVectors = 2;
constexpr std::size_t kCodeTileRows = HWY_TARGET <= HWY_AVX3 ? 6 : 4;

template <class Codes, std::size_t... kQuads>
HWY_INLINE void DecodeUnit(const Codes& codes, const std::uint8_t* HWY_RESTRICT planes,
                           std::size_t at, std::uint8_t* HWY_RESTRICT bytes,
                           std::index_sequence<kQuads...> /*quads*/) {
  (hn::Store(codes.template Bytes<kQuads>(planes, at), DBytes(),
             bytes + at + kQuads * kPlaneVector),
   ...);
}

/// Writes the bytes of a block, [inputs / 4, 64, 4], inputs in the order of encoded rows.
template <class Codes>
void DecodeTile(const Codes& codes, const StripBlock& w, std::size_t units,
                std::uint8_t* HWY_RESTRICT bytes) {
  const std::uint8_t* HWY_RESTRICT planes = w.planes;
  for (std::size_t unit = 0; unit < units; ++unit) {
    PrefetchFar(w.ahead + unit * Codes::kUnitBytes, Codes::kUnitBytes);
    for (std::size_t at = 0; at < kPlaneVector; at += kGroupBytes) {
      DecodeUnit(codes, planes, at, bytes, std::make_index_sequence<kGroupUnitInputs / 4>());
    }
    planes += Codes::kUnitBytes;
    bytes += kGroupUnitInputs / 4 * kPlaneVector;
  }
}

/// The bytes of a decoded block, as codes.
template <bool kAreSigned, bool kAreSmall, int kShift>
struct TileBytes {
  static constexpr std::size_t kUnitBytes = kGroupUnitInputs / 4 * kPlaneVector;
  static constexpr bool kSigned = kAreSigned;
  static constexpr bool kSmall = kAreSmall;
  static constexpr int kStepShift = kShift;

  template <std::size_t kQuad>
  HWY_INLINE VBytes Bytes(const std::uint8_t* HWY_RESTRICT bytes, std::size_t at) const {
    return hn::Load(DBytes(), bytes + kQuad * kPlaneVector + at);
  }

  int bias;
};
/// Those of codes: one type, and so one kernel, for all codes whose bytes are summed alike.
template <class Codes>
using TileBytesOf =
    TileBytes<Codes::kSigned, Codes::kSmall && HALFTONE_SUMS_SHORTS, Codes::kStepShift>;

/// acc + sums of products of four inputs, in 32 bits; of small codes in 16 where that is faster.
template <class Codes>
HALFTONE_VNNI HWY_INLINE VInts AddTileProducts(VInts acc, VBytes level, Quad inputs) {
  if constexpr (Codes::kSigned) return AddLevelProducts(acc, level, inputs);
  return AddByteProducts(acc, level, inputs);
}
#if HALFTONE_SUMS_SHORTS
template <class Codes>
HWY_INLINE VShorts AddTileProducts(VShorts acc, VBytes level, Quad inputs) {
  static_assert(Codes::kSmall);
  return AddSmallProducts(acc, level, inputs);
}
#endif

/// sums[r][v] += products of four inputs.
/// @param x  of each row
template <class Codes, std::size_t kQuad, std::size_t kRows, std::size_t kVectors, class Sum>
HALFTONE_VNNI HWY_INLINE void AddTileQuad(const Codes& codes,
                                          const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                          const std::int8_t* const* x, std::size_t first_input,
                                          Sum (&sums)[kRows][kVectors]) {
  VBytes level[kVectors];
  HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    level[v] = Keep(codes.template Bytes<kQuad>(planes, at + v * kGroupBytes));
  }
  HALFTONE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    const Quad inputs = Keep(LoadQuad(x[r] + first_input + kQuad * 4));
    HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      sums[r][v] = AddTileProducts<Codes>(sums[r][v], level[v], inputs);
    }
  }
}

/// The same of quads of a unit.
template <class Codes, std::size_t kFirst, std::size_t kRows, std::size_t kVectors, class Sum,
          std::size_t... kQuads>
HALFTONE_VNNI HWY_INLINE void AddTileQuads(const Codes& codes,
                                           const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                           const std::int8_t* const* x, std::size_t first_input,
                                           Sum (&sums)[kRows][kVectors],
                                           std::index_sequence<kQuads...> /*quads*/) {
  (AddTileQuad<Codes, kFirst + kQuads>(codes, planes, at, x, first_input, sums), ...);
}

/// The same of the quads that a piece has in a unit.
template <class Codes, PieceQuads kPiece, std::size_t kRows, std::size_t kVectors>
HALFTONE_VNNI HWY_INLINE void AddTileUnit(const Codes& codes,
                                          const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                          const std::int8_t* const* x, std::size_t first_input,
                                          VInts (&sums)[kRows][kVectors]) {
  constexpr auto kQuads = std::make_index_sequence<kPiece.count>();
#if HALFTONE_SUMS_SHORTS
  if constexpr (Codes::kSmall) {
    static_assert(kPiece.count <= kSmallQuads);
    const VShorts ones = hn::Set(DShorts(), std::uint16_t{1});
    VShorts shorts[kRows][kVectors];
    HALFTONE_UNROLL for (auto& row : shorts) {
      HALFTONE_UNROLL for (VShorts& sum : row) sum = hn::Zero(DShorts());
    }
    AddTileQuads<Codes, kPiece.first>(codes, planes, at, x, first_input, shorts, kQuads);
    HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kVectors; ++i) {
      VInts& sum = sums[i / kVectors][i % kVectors];
      sum = hn::Add(sum, WidenSmallSums(shorts[i / kVectors][i % kVectors], ones));
    }
    return;
  }
#endif
  AddTileQuads<Codes, kPiece.first>(codes, planes, at, x, first_input, sums, kQuads);
}

/// Rows of activations with a block of weights.
template <std::size_t kRows>
struct TileInputs {
  const PieceInputs* of;            ///< of each row
  const std::int8_t* codes[kRows];  ///< the same
};

/// acc[r][v] += the products of piece `p`.
/// @param planes  of the piece's first unit
/// @param first   vector of the strip
template <class Codes, PieceQuads kPiece, std::size_t kRows, std::size_t kVectors>
HALFTONE_VNNI HWY_INLINE void AddTilePiece(const Codes& codes, const StripBlock& w,
                                           const std::uint8_t* HWY_RESTRICT planes,
                                           std::size_t first, std::size_t p,
                                           const TileInputs<kRows>& x,
                                           VGroupFloats (&acc)[kRows][kVectors]) {
  constexpr std::size_t kInputs = kPiece.units * kPiece.count * 4;
  const DGroupFloats d;
  VInts sums[kRows][kVectors];
  HALFTONE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
    const VInts first_sum =
        Codes::kStepShift > 0 ? hn::Zero(DInts()) : hn::Set(DInts(), codes.bias * x.of[r].sums[p]);
    HALFTONE_UNROLL for (VInts& sum : sums[r]) sum = first_sum;
  }
  HALFTONE_UNROLL for (std::size_t unit = 0; unit < kPiece.units; ++unit) {
    AddTileUnit<Codes, kPiece>(codes, planes + unit * Codes::kUnitBytes, first * kGroupBytes,
                               x.codes, p * kInputs + unit * kGroupUnitInputs - kPiece.first * 4,
                               sums);
  }
  const std::size_t at = (p >> w.group_shift) * kStripRows + first * kGroupLanes;
  HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kVectors; ++i) {
    const std::size_t r = i % kRows;
    const std::size_t v = i / kRows;
    VInts sum = sums[r][v];
    if constexpr (Codes::kStepShift > 0) {
      sum = hn::Add(hn::ShiftLeft<Codes::kStepShift>(sum),
                    hn::Set(DInts(), codes.bias * x.of[r].sums[p]));
    }
    const VGroupFloats scale = hn::Load(d, w.scales + at + v * kGroupLanes);
    acc[r][v] = FoldPiece(acc[r][v], sum, scale, hn::Set(d, x.of[r].scales[p]));
  }
  if (w.offsets == nullptr) return;
  HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kVectors; ++i) {
    const std::size_t r = i % kRows;
    const std::size_t v = i / kRows;
    const VGroupFloats offset = hn::Load(d, w.offsets + at + v * kGroupLanes);
    acc[r][v] = hn::Add(acc[r][v], hn::Mul(offset, hn::Set(d, x.of[r].shares[p])));
  }
}

/// sums[r] += the products of a block and kRows rows.
/// @param planes  of the block
/// @param sums    [kRows, 64]
template <class Codes, std::size_t kPiece, std::size_t kRows, std::size_t kVectors>
HALFTONE_VNNI void AddTileRows(const Codes& codes, const StripBlock& w,
                               const std::uint8_t* HWY_RESTRICT planes, const PieceInputs* x,
                               float* HWY_RESTRICT sums) {
  constexpr std::size_t kUnitPieces = kPiece < kGroupUnitInputs ? kGroupUnitInputs / kPiece : 1;
  constexpr std::size_t kStepBytes = Codes::kUnitBytes * (kPiece * kUnitPieces / kGroupUnitInputs);
  const DGroupFloats d;
  TileInputs<kRows> inputs{x, {}};
  for (std::size_t r = 0; r < kRows; ++r) inputs.codes[r] = x[r].codes;
  const std::uint8_t* ahead = w.ahead;
  for (std::size_t first = 0; first < kStripVectors; first += kVectors) {
    VGroupFloats acc[kRows][kVectors];
    HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kVectors; ++i) {
      const std::size_t lane = (first + i % kVectors) * kGroupLanes;
      acc[i / kVectors][i % kVectors] = hn::Load(d, sums + i / kVectors * kStripRows + lane);
    }
    const std::uint8_t* from = planes;
    for (std::size_t p = 0; p < w.pieces; p += kUnitPieces) {
      if (ahead != nullptr) {
        PrefetchFar(ahead, kStepBytes * kVectors / kStripVectors);
        ahead += kStepBytes * kVectors / kStripVectors;
      }
      AddTilePiece<Codes, QuadsOf(kPiece, 0)>(codes, w, from, first, p, inputs, acc);
      if constexpr (kUnitPieces == 2) {
        AddTilePiece<Codes, QuadsOf(kPiece, 1)>(codes, w, from, first, p + 1, inputs, acc);
      }
      from += kStepBytes;
    }
    HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kVectors; ++i) {
      const std::size_t lane = (first + i % kVectors) * kGroupLanes;
      hn::Store(acc[i / kVectors][i % kVectors], d, sums + i / kVectors * kStripRows + lane);
    }
  }
}

/// The fewest of up to `most` rows where more rows are divided into equal parts.
constexpr std::size_t LeastTileRows(std::size_t most) { return (most + 1) / 2; }

/// AddTileRows() of kLeast to kRows rows.
template <class Codes, std::size_t kPiece, std::size_t kVectors, std::size_t kLeast,
          std::size_t kRows>
HWY_INLINE void AddTileTail(std::size_t rows, const Codes& codes, const StripBlock& w,
                            const std::uint8_t* planes, const PieceInputs* x, float* sums) {
  if constexpr (kRows > kLeast) {
    if (rows < kRows) {
      return AddTileTail<Codes, kPiece, kVectors, kLeast, kRows - 1>(rows, codes, w, planes, x,
                                                                     sums);
    }
  }
  AddTileRows<Codes, kPiece, kRows, kVectors>(codes, w, planes, x, sums);
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
