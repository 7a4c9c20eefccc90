// SPDX-License-Identifier: Apache-2.0
// level_matmul() for LevelLayout::kNibbles: 32 codes of an output in 16 bytes, looked up in the
// table of that output, times 32 activations.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/int8_matmul/level_nibbles.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/int8_matmul/level_matmul.h"
#include "halftone/kernels/int8_matmul/level_rows-inl.h"
#include "halftone/kernels/keep-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Weights = LevelMatmulWeights;

/// Outputs whose pieces follow each other.
constexpr std::size_t kStrip = Weights::kNibbleOutputs;
constexpr std::size_t kPiece = Weights::kNibbleInputs;
/// Inputs in the lower, and in the upper halves of the bytes of a piece.
constexpr std::size_t kHalf = kPiece / 2;
constexpr std::size_t kTable = Weights::kTableBytes;

#if HWY_TARGET == HWY_SCALAR

/// Outputs that are summed up together.
constexpr std::size_t kTogether = kStrip;

template <bool kFourBits>
void SumNibbles(const StripCodes& codes, const PieceInputs& x, std::int32_t* sums) {
  std::fill_n(sums, kStrip, 0);
  const std::size_t pieces = x.whole_pieces + (x.rest != nullptr ? 1 : 0);
  const std::uint8_t* code = codes.first;
  for (std::size_t p = 0; p < pieces; ++p) {
    const std::int8_t* q = p < x.whole_pieces ? x.whole + p * kPiece : x.rest;
    for (std::size_t o = 0; o < kStrip; ++o, code += kHalf) {
      for (std::size_t i = 0; i < kHalf; ++i) {
        sums[o] += codes.tables[o * kTable + (code[i] & 15)] * q[i];
        sums[o] += codes.tables[o * kTable + (code[i] >> 4)] * q[kHalf + i];
      }
    }
  }
}

#else

/// Outputs of a vector, and vectors whose tables and sums are in registers together.
constexpr std::size_t kOutputs = hn::MaxLanes(DBytes()) / kHalf;
constexpr std::size_t kVectors = 4;
/// Outputs that are summed up together: whole strips.
constexpr std::size_t kTogether = std::max(kStrip, kVectors* kOutputs);
/// Sums of an output that do not wait for each other; the 16 registers of AVX2 hold one.
constexpr std::size_t kSums = HWY_TARGET <= HWY_AVX3 || HWY_TARGET == HWY_NEON ? 2 : 1;

/// Whether a look-up ignores the upper half of a byte: with three bits per code it is below 8, and
/// pshufb ignores it.
template <bool kFourBits>
constexpr bool kIgnoresUpperHalf = HWY_ARCH_X86&& HWY_TARGET != HWY_EMU128 && !kFourBits;

/// The codes in the lower halves of bytes, for a look-up.
template <bool kFourBits>
HWY_INLINE VBytes LowerCodes(VBytes bytes) {
  if constexpr (kIgnoresUpperHalf<kFourBits>) return bytes;
  return hn::And(bytes, hn::Set(DBytes(), std::uint8_t{15}));
}

/// The codes in the upper halves of bytes, for a look-up.
template <bool kFourBits>
HWY_INLINE VBytes UpperCodes(VBytes bytes) {
  if constexpr (kIgnoresUpperHalf<kFourBits>) {
    return hn::BitCast(DBytes(), hn::ShiftRight<4>(hn::BitCast(DShorts(), bytes)));
  }
  return hn::ShiftRight<4>(bytes);
}

/// Adds up the lanes of each output: four neighbouring ones.
/// @return [v, o] the sum of output o of vector v
HWY_INLINE VInts AddLanes(const VInts* acc) {
  const VInts sums = AddFours(acc[0], acc[1], acc[2], acc[3]);
  if constexpr (kOutputs == 1) return sums;
  alignas(64) std::int32_t order[kVectors * kOutputs];
  for (std::size_t i = 0; i < kVectors * kOutputs; ++i) {
    order[i] = static_cast<std::int32_t>(i % kOutputs * kVectors + i / kOutputs);
  }
  return hn::TableLookupLanes(sums, hn::SetTableIndices(DInts(), order));
}

/// sums[o] = the products of a group with kTogether outputs. Per vector of codes one load, one
/// shift (and two masks if the codes have four bits; on NEON one), two look-ups and two dot
/// products.
template <bool kFourBits>
HALFTONE_VNNI void SumNibbles(const StripCodes& codes, const PieceInputs& x,
                              std::int32_t* HWY_RESTRICT sums) {
  const DBytes d;
  const DSigned d8;
  for (std::size_t first = 0; first < kTogether; first += kVectors * kOutputs) {
    VBytes table[kVectors];
    VInts acc[kSums][kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) {
      table[v] = hn::LoadU(d, codes.tables + (first + v * kOutputs) * kTable);
      for (auto& sum : acc) sum[v] = hn::Zero(DInts());
    }
    const auto add_piece = [&](const std::uint8_t* piece, const std::int8_t* q)
        __attribute__((always_inline)) HALFTONE_VNNI {
      const VSigned lower = hn::LoadDup128(d8, q);
      const VSigned upper = hn::LoadDup128(d8, q + kHalf);
      for (std::size_t v = 0; v < kVectors; ++v) {
        const std::size_t o = first + v * kOutputs;
        const std::uint8_t* from = piece + o / kStrip * codes.strip_bytes + o % kStrip * kHalf;
        if (v * kOutputs % kStrip == 0) PrefetchFar(from + codes.ahead, kStrip * kHalf);
        const VBytes bytes = Keep(hn::LoadU(d, from));
        const VBytes low = hn::TableLookupBytes(table[v], LowerCodes<kFourBits>(bytes));
        const VBytes high = hn::TableLookupBytes(table[v], UpperCodes<kFourBits>(bytes));
        VInts& even = acc[0][v];
        VInts& odd = acc[kSums - 1][v];
        even = AddByteProducts(even, low, lower);
        if constexpr (kSums > 1) even = Keep(even);
        odd = Keep(AddByteProducts(odd, high, upper));
      }
    };
    const std::uint8_t* HWY_RESTRICT piece = codes.first;
    for (std::size_t p = 0; p < x.whole_pieces; ++p, piece += kStrip * kHalf) {
      add_piece(piece, x.whole + p * kPiece);
    }
    if (x.rest != nullptr) add_piece(piece, x.rest);
    for (std::size_t v = 0; kSums > 1 && v < kVectors; ++v) {
      acc[0][v] = hn::Add(acc[0][v], acc[kSums - 1][v]);
    }
    hn::StoreU(AddLanes(acc[0]), DInts(), sums + first);
  }
}

#endif

using Nibbles = Strips<kPiece, kStrip, kTogether>;

void LevelMatmulNibbles(const Int8Rows& x, const Weights& weights, BlockRange blocks,
                        MatrixView<float> y) {
  const SumStrips sum = weights.bits() == 4 ? SumNibbles<true> : SumNibbles<false>;
  MultiplyByCodes<Nibbles>(x, weights, blocks, sum, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#include "halftone/kernels/dot_pass-inl.h"

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(LevelMatmulNibbles);

void level_matmul_nibbles(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                          MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH_DOT(LevelMatmulNibbles)(x, weights, blocks, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
