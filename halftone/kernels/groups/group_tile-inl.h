// SPDX-License-Identifier: Apache-2.0
// Products of a block of packed weights with several rows of activations: the codes become bytes
// in the first-level cache, which one kernel of bytes then reads for all rows.
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

/// What the kernel of bytes needs to know of codes.
template <bool kIsSigned, int kShift>
struct TileBytes {
  static constexpr int kStepShift = kShift;
  static HALFTONE_VNNI HWY_INLINE VInts Add(VInts acc, VBytes bytes, Quad x) {
    if constexpr (kIsSigned) {
      return AddLevelProducts(acc, bytes, x);
    } else {
      return AddByteProducts(acc, bytes, x);
    }
  }
};

/// integers[r][v] = the products of a piece.
/// @param x  of each row
template <class Bytes, std::size_t kPiece, std::size_t kRows>
HALFTONE_VNNI HWY_INLINE void SumTilePiece(const std::uint8_t* HWY_RESTRICT bytes,
                                           const std::int8_t* const* x, std::size_t first_input,
                                           VInts (&integers)[kRows][kTileVectors]) {
  HALFTONE_UNROLL for (auto& row : integers) {
    HALFTONE_UNROLL for (VInts& sum : row) sum = hn::Zero(DInts());
  }
  HALFTONE_UNROLL for (std::size_t q = 0; q < kPiece / 4; ++q) {
    VBytes level[kTileVectors];
    HALFTONE_UNROLL for (std::size_t v = 0; v < kTileVectors; ++v) {
      level[v] = Keep(hn::Load(DBytes(), bytes + q * kPlaneVector + v * kGroupBytes));
    }
    HALFTONE_UNROLL for (std::size_t r = 0; r < kRows; ++r) {
      const Quad inputs = Keep(LoadQuad(x[r] + first_input + q * 4));
      HALFTONE_UNROLL for (std::size_t v = 0; v < kTileVectors; ++v) {
        integers[r][v] = Bytes::Add(integers[r][v], level[v], inputs);
      }
    }
  }
}

/// sums[r] += the products of a block and kRows rows.
/// @param bytes  of the block
/// @param bias   of the levels
/// @param sums   [kRows, 64]
template <class Bytes, std::size_t kPiece, std::size_t kRows>
HALFTONE_VNNI void AddTileRows(const StripBlock& w, const std::uint8_t* HWY_RESTRICT bytes,
                               int bias, const PieceInputs* x, float* HWY_RESTRICT sums) {
  const DGroupFloats d;
  const std::int8_t* codes[kRows];
  for (std::size_t r = 0; r < kRows; ++r) codes[r] = x[r].codes;
  for (std::size_t first = 0; first < kStripVectors; first += kTileVectors) {
    VGroupFloats acc[kRows][kTileVectors];
    HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kTileVectors; ++i) {
      const std::size_t lane = (first + i % kTileVectors) * kGroupLanes;
      acc[i / kTileVectors][i % kTileVectors] =
          hn::Load(d, sums + i / kTileVectors * kStripRows + lane);
    }
    for (std::size_t p = 0; p < w.pieces; ++p) {
      VInts integers[kRows][kTileVectors];
      SumTilePiece<Bytes, kPiece, kRows>(bytes + p * kPiece * kStripRows + first * kGroupBytes,
                                         codes, p * kPiece, integers);
      const std::size_t at = (p >> w.group_shift) * kStripRows + first * kGroupLanes;
      HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kTileVectors; ++i) {
        const std::size_t r = i % kRows;
        const std::size_t v = i / kRows;
        VInts sum = hn::ShiftLeft<Bytes::kStepShift>(integers[r][v]);
        sum = hn::Add(sum, hn::Set(DInts(), bias * x[r].sums[p]));
        const VGroupFloats scale = hn::Load(d, w.scales + at + v * kGroupLanes);
        acc[r][v] = FoldPiece(acc[r][v], sum, scale, hn::Set(d, x[r].scales[p]));
      }
      if (w.offsets == nullptr) continue;
      HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kTileVectors; ++i) {
        const std::size_t r = i % kRows;
        const std::size_t v = i / kRows;
        const VGroupFloats offset = hn::Load(d, w.offsets + at + v * kGroupLanes);
        acc[r][v] = hn::Add(acc[r][v], hn::Mul(offset, hn::Set(d, x[r].shares[p])));
      }
    }
    HALFTONE_UNROLL for (std::size_t i = 0; i < kRows * kTileVectors; ++i) {
      const std::size_t lane = (first + i % kTileVectors) * kGroupLanes;
      hn::Store(acc[i / kTileVectors][i % kTileVectors], d,
                sums + i / kTileVectors * kStripRows + lane);
    }
  }
}

/// AddTileRows() of 1 to kRows rows.
template <class Bytes, std::size_t kPiece, std::size_t kRows = kTileRows>
HWY_INLINE void AddTileTail(std::size_t rows, const StripBlock& w, const std::uint8_t* bytes,
                            int bias, const PieceInputs* x, float* sums) {
  if (rows == kRows) return AddTileRows<Bytes, kPiece, kRows>(w, bytes, bias, x, sums);
  if constexpr (kRows > 1) AddTileTail<Bytes, kPiece, kRows - 1>(rows, w, bytes, bias, x, sums);
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
