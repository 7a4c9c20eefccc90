// SPDX-License-Identifier: Apache-2.0
// Products of a block of packed weights with one row of activations, straight from the codes.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_BLOCK_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_BLOCK_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_BLOCK_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_BLOCK_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/groups/encoded_rows.h"
#include "halftone/kernels/groups/group_codes-inl.h"
#include "halftone/kernels/groups/group_scales-inl.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

/// Weights of a strip and block.
struct StripBlock {
  const std::uint8_t* planes;
  const std::uint8_t* ahead;  ///< as many bytes, to prefetch
  const float* scales;        ///< [groups, 64]
  const float* offsets;       ///< the same, or null
  std::size_t pieces;         ///< of the block
  std::size_t first_piece;    ///< its index in the row
  unsigned group_shift;       ///< log2 of the pieces of a group
};

/// Of one row of activations, from a piece on.
struct PieceInputs {
  const std::int8_t* codes;
  const float* scales;
  const float* shares;
  const std::int32_t* sums;
};

HWY_INLINE PieceInputs InputsOf(const EncodedRows& x, std::size_t row, std::size_t piece) {
  return {x.codes(row) + piece * x.extents().piece(), x.scales(row) + piece, x.shares(row) + piece,
          x.sums(row) + piece};
}

/// Row vectors whose sums are in registers at a time.
constexpr std::size_t kVectorsAtOnce = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 4 : 1;
/// The same for the codes of a class.
template <class Codes>
constexpr std::size_t kVectorsOfCodes = kVectorsAtOnce;

constexpr PieceQuads QuadsOf(std::size_t piece, std::size_t half) {
  if (piece == 16) return {4 * half, 4, 1};
  return {0, 8, piece / kGroupUnitInputs};
}

/// Scales of a group, and its offsets or null.
template <class Scales>
struct GroupOf {
  const Scales* scales;
  const Scales* offsets;
  std::size_t group;
};

/// sums += the products of a piece, for all 64 rows.
/// @param planes  of the piece's first unit
/// @param x       codes from the first input of that unit on; the rest from the piece on
template <class Codes, PieceQuads kPiece, class Scales>
HALFTONE_VNNI HWY_INLINE void AddPiece(const Codes& codes, const std::uint8_t* HWY_RESTRICT planes,
                                       const GroupOf<Scales>& of, const PieceInputs& x,
                                       VGroupFloats* sums) {
  constexpr std::size_t kAtOnce = kVectorsOfCodes<Codes>;
  const DGroupFloats d;
  const VInts bias = hn::Set(DInts(), codes.bias * *x.sums);
  const VGroupFloats x_scale = hn::Set(d, *x.scales);
  for (std::size_t v = 0; v < kStripVectors; v += kAtOnce) {
    VInts integers[kAtOnce];
    HALFTONE_UNROLL for (VInts& sum : integers) sum = bias;
    codes.template Sum<kPiece, kAtOnce>(planes, v * kGroupBytes, x.codes, integers);
    VGroupFloats scale[kAtOnce];
    of.scales->template Load<kAtOnce>(of.group, v, scale);
    HALFTONE_UNROLL for (std::size_t i = 0; i < kAtOnce; ++i) {
      sums[v + i] = FoldPiece(sums[v + i], integers[i], scale[i], x_scale);
    }
  }
  if (of.offsets == nullptr) return;
  const VGroupFloats share = hn::Set(d, *x.shares);
  for (std::size_t v = 0; v < kStripVectors; v += kAtOnce) {
    VGroupFloats offset[kAtOnce];
    of.offsets->template Load<kAtOnce>(of.group, v, offset);
    HALFTONE_UNROLL for (std::size_t i = 0; i < kAtOnce; ++i) {
      sums[v + i] = hn::Add(sums[v + i], hn::Mul(offset[i], share));
    }
  }
}

/// sums += the products of a block, for all 64 rows.
/// @param first  the first of the groups
template <class Codes, std::size_t kPiece, class Scales>
HALFTONE_VNNI void AddStripBlock(const Codes& codes, const StripBlock& w,
                                 const GroupOf<Scales>& first, const PieceInputs& x,
                                 float* HWY_RESTRICT sums) {
  const DGroupFloats d;
  constexpr std::size_t kUnitPieces = kPiece < kGroupUnitInputs ? kGroupUnitInputs / kPiece : 1;
  constexpr std::size_t kStepBytes = Codes::kUnitBytes * (kPiece * kUnitPieces / kGroupUnitInputs);
  VGroupFloats acc[kStripVectors];
  for (std::size_t v = 0; v < kStripVectors; ++v) acc[v] = hn::Load(d, sums + v * kGroupLanes);
  const std::uint8_t* planes = w.planes;
  const std::uint8_t* ahead = w.ahead;
  for (std::size_t p = 0; p < w.pieces; p += kUnitPieces) {
    PrefetchFar(ahead, kStepBytes);
    const PieceInputs inputs{x.codes + p * kPiece * Codes::kInputBytes, x.scales + p, x.shares + p,
                             x.sums + p};
    const std::size_t group = first.group + (p >> w.group_shift);
    AddPiece<Codes, QuadsOf(kPiece, 0), Scales>(codes, planes, {first.scales, first.offsets, group},
                                                inputs, acc);
    if constexpr (kUnitPieces == 2) {
      const PieceInputs next{inputs.codes, inputs.scales + 1, inputs.shares + 1, inputs.sums + 1};
      AddPiece<Codes, QuadsOf(kPiece, 1), Scales>(
          codes, planes, {first.scales, first.offsets, group + 1}, next, acc);
    }
    planes += kStepBytes;
    ahead += kStepBytes;
  }
  for (std::size_t v = 0; v < kStripVectors; ++v) hn::Store(acc[v], d, sums + v * kGroupLanes);
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
