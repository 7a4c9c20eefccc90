// SPDX-License-Identifier: Apache-2.0
// Codes of weights in groups: their products with activations, and their bytes.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_CODES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_CODES_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_CODES_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_CODES_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "halftone/kernels/byte_products-inl.h"
#include "halftone/kernels/groups/packed_groups.h"

#undef HALFTONE_UNROLL
#define HALFTONE_UNROLL _Pragma("GCC unroll 16")

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

/// Bytes of a vector of a plane, for the 64 rows of a strip.
constexpr std::size_t kPlaneVector = 4 * kStripRows;
constexpr std::size_t kGroupLanes = hn::MaxLanes(DInts());
constexpr std::size_t kGroupBytes = hn::MaxLanes(DBytes());
/// Vectors of one input per row of a strip.
constexpr std::size_t kStripVectors = kStripRows / kGroupLanes;
/// Whether unsigned bytes above 127 are multiplied exactly.
constexpr bool kHasVnni = HALFTONE_USES_VNNI;
/// What is added to a level of int8 to get the byte that AddLevelProducts() takes.
constexpr int kLevelBias = kHasVnni ? 128 : 0;

/// Code vectors of a piece: of each unit `count` from `first` on, each of 4 inputs.
struct PieceQuads {
  std::size_t first;
  std::size_t count;
  std::size_t units;
};

/// acc + sums of four products, of levels + kLevelBias.
HALFTONE_VNNI HWY_INLINE VInts AddLevelProducts(VInts acc, VBytes levels, Quad x) {
#if HWY_TARGET == HWY_AVX3
  // Levels of -128 become 128, and 2 128 127 fits 16 bits with a sign.
  const __mmask64 negative = _mm512_movepi8_mask(levels.raw);
  const VSigned signed_x{_mm512_mask_sub_epi8(x.raw, negative, _mm512_setzero_si512(), x.raw)};
  return AddByteProducts(acc, VBytes{_mm512_abs_epi8(levels.raw)}, signed_x);
#elif HWY_TARGET == HWY_AVX2 && !HALFTONE_USES_VNNI
  const VSigned signed_x{_mm256_sign_epi8(x.raw, levels.raw)};
  return AddByteProducts(acc, VBytes{_mm256_abs_epi8(levels.raw)}, signed_x);
#elif HWY_TARGET == HWY_SSE4
  const VSigned signed_x{_mm_sign_epi8(x.raw, levels.raw)};
  return AddByteProducts(acc, VBytes{_mm_abs_epi8(levels.raw)}, signed_x);
#else
  return AddByteProducts(acc, levels, x);
#endif
}

/// The bits of bytes, moved down within lanes of 16 bits.
template <int kBits>
HWY_INLINE VBytes ShiftBytesDown(VBytes bytes) {
  if constexpr (kBits == 0) return bytes;
  return hn::BitCast(DBytes(), hn::ShiftRight<kBits>(hn::BitCast(DShorts(), bytes)));
}
template <int kBits>
HWY_INLINE VBytes ShiftBytesUp(VBytes bytes) {
  return hn::BitCast(DBytes(), hn::ShiftLeft<kBits>(hn::BitCast(DShorts(), bytes)));
}

/// Field kQuad of a plane of codes of kWidth bits.
template <int kWidth, std::size_t kQuad>
HWY_INLINE VBytes PlaneBytes(const std::uint8_t* HWY_RESTRICT plane) {
  constexpr std::size_t kFields = 8 / kWidth;
  const VBytes bytes = hn::Load(DBytes(), plane + kQuad / kFields * kPlaneVector);
  if constexpr (kWidth == 8) return bytes;
  const VBytes mask = hn::Set(DBytes(), static_cast<std::uint8_t>((1 << kWidth) - 1));
  return hn::And(ShiftBytesDown<static_cast<int>(kQuad % kFields) * kWidth>(bytes), mask);
}

/// Sums of products of fields that stay where they are in their bytes: those of field f are 2^(f w)
/// times too large, which one shift at the end removes exactly. Fields above the first kInPlace
/// move down by 4 bits first: they would be too large, or take too many sums.
template <int kWidth>
struct PlaneFields {
  static constexpr std::size_t kFields = 8 / kWidth;
  static constexpr std::size_t kInPlace = kWidth == 1 ? 4 : kWidth == 4 && !kHasVnni ? 1 : 2;
#if HALFTONE_SUMS_SHORTS
  using Sum = VShorts;
  static HWY_INLINE Sum Zero() { return hn::Zero(DShorts()); }
  static HWY_INLINE Sum Add(Sum sum, VBytes u, VSigned x) { return AddSmallProducts(sum, u, x); }
  static HWY_INLINE VInts Widen(Sum sum) {
    return WidenSmallSums(sum, hn::Set(DShorts(), std::uint16_t{1}));
  }
#else
  using Sum = VInts;
  static HWY_INLINE Sum Zero() { return hn::Zero(DInts()); }
  static HALFTONE_VNNI HWY_INLINE Sum Add(Sum sum, VBytes u, Quad x) {
    return AddByteProducts(sum, u, x);
  }
  static HWY_INLINE VInts Widen(Sum sum) { return sum; }
#endif

  template <std::size_t kField>
  static HWY_INLINE void AddDown(Sum* sums) {
    if constexpr (kField > 0) {
      const hn::RebindToSigned<hn::DFromV<Sum>> d;
      const auto down = hn::ShiftRight<kWidth>(hn::BitCast(d, sums[kField]));
      sums[kField - 1] = hn::Add(sums[kField - 1], hn::BitCast(hn::DFromV<Sum>(), down));
      AddDown<kField - 1>(sums);
    }
  }
  /// The sum of the products of all fields.
  static HWY_INLINE VInts Finish(Sum* sums) {
    AddDown<kInPlace - 1>(sums);
    return Widen(sums[0]);
  }
};

/// sums[v] += products of a plane's codes.
/// @tparam kUnitBytes  from a unit to the next
/// @param x            of the first unit
template <int kWidth, PieceQuads kPiece, std::size_t kUnitBytes, std::size_t kVectors>
HALFTONE_VNNI HWY_INLINE void SumPlane(const std::uint8_t* HWY_RESTRICT plane,
                                       const std::int8_t* HWY_RESTRICT x, VInts* sums) {
  using Fields = PlaneFields<kWidth>;
  constexpr std::size_t kInPlace = Fields::kInPlace;
  // Sums of 16 bits hold the products of one unit.
  constexpr std::size_t kUnits = kSumsShorts ? 1 : kPiece.units;
  VBytes masks[kInPlace];
  for (std::size_t p = 0; p < kInPlace; ++p) {
    masks[p] = hn::Set(DBytes(), static_cast<std::uint8_t>(((1 << kWidth) - 1) << (p * kWidth)));
  }
  for (std::size_t first = 0; first < kPiece.units; first += kUnits) {
    typename Fields::Sum acc[kVectors][kInPlace];
    HALFTONE_UNROLL for (auto& vector : acc) {
      HALFTONE_UNROLL for (auto& sum : vector) sum = Fields::Zero();
    }
    if constexpr (!kSumsShorts) {
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) acc[v][0] = sums[v];
    }
    HALFTONE_UNROLL for (std::size_t q = 0; q < kUnits * kPiece.count; q += kInPlace) {
      const std::size_t unit = first + q / kPiece.count;
      const std::size_t quad = kPiece.first + q % kPiece.count;
      const std::uint8_t* from = plane + unit * kUnitBytes + quad / Fields::kFields * kPlaneVector;
      Quad inputs[kInPlace];
      HALFTONE_UNROLL for (std::size_t p = 0; p < kInPlace; ++p) {
        inputs[p] = LoadQuad(x + unit * kGroupUnitInputs + (quad + p) * 4);
      }
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        VBytes bytes = hn::Load(DBytes(), from + v * kGroupBytes);
        if (quad % Fields::kFields >= kInPlace) bytes = ShiftBytesDown<4>(bytes);
        HALFTONE_UNROLL for (std::size_t p = 0; p < kInPlace; ++p) {
          acc[v][p] = Fields::Add(acc[v][p], hn::And(bytes, masks[p]), inputs[p]);
        }
      }
    }
    HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
      const VInts sum = Fields::Finish(acc[v]);
      sums[v] = kSumsShorts ? hn::Add(sums[v], sum) : sum;
    }
  }
}

// Codes are a class
//
//     struct Codes {
//       kUnitBytes;   // of the planes of a unit
//       kInputBytes;  // of what Sum() takes, per input
//       kSigned;      // Bytes() gives levels + kLevelBias, else codes of at most 6 bits
//       kSmall;       // of at most 4 bits
//       kStepShift;   // a level is its byte 2^kStepShift + bias
//       bias;
//       explicit Codes(const PackedGroups& weights);
//       /// sums[v] += products of the bytes of a piece, times 2^kStepShift.
//       /// @param at  byte of the first vector among those of the 64 rows
//       void Sum<kPiece, kVectors>(planes, at, x, sums);
//       /// Bytes of 4 inputs of the rows of a vector.
//       VBytes Bytes<kQuad>(planes, at);
//     };

#if HWY_TARGET == HWY_AVX3_DL

/// Codes of two planes, field kQuad of both: the high bits move above the low ones. Bits above
/// those may be set.
template <int kLow, int kHigh, std::size_t kQuad>
HWY_INLINE VBytes JoinPlanes(const std::uint8_t* HWY_RESTRICT low,
                             const std::uint8_t* HWY_RESTRICT high) {
  constexpr auto kFrom = static_cast<int>(kQuad % (8 / kHigh)) * kHigh;
  const VBytes low_bits = ShiftBytesDown<static_cast<int>(kQuad % (8 / kLow)) * kLow>(
      hn::Load(DBytes(), low + kQuad / (8 / kLow) * kPlaneVector));
  VBytes high_bits = hn::Load(DBytes(), high + kQuad / (8 / kHigh) * kPlaneVector);
  if constexpr (kFrom >= kLow) {
    high_bits = ShiftBytesDown<kFrom - kLow>(high_bits);
  } else {
    high_bits = ShiftBytesUp<kLow - kFrom>(high_bits);
  }
  const __m512i mask = _mm512_set1_epi8((1 << kLow) - 1);
  // mask ? low_bits : high_bits
  return VBytes{_mm512_ternarylogic_epi32(mask, low_bits.raw, high_bits.raw, 0xCA)};
}

/// sums[v] += products of codes of two planes, which are joined first: with AVX-512 VNNI that takes
/// less than products of either.
template <int kLow, int kHigh, std::size_t kVectors, std::size_t... kQuads>
HALFTONE_VNNI HWY_INLINE void SumJoined(const std::uint8_t* HWY_RESTRICT low,
                                        const std::uint8_t* HWY_RESTRICT high,
                                        const std::int8_t* HWY_RESTRICT x, VInts* sums,
                                        std::index_sequence<kQuads...> /*quads*/) {
  const VBytes mask = hn::Set(DBytes(), std::uint8_t{(1 << (kLow + kHigh)) - 1});
  HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t at = v * kGroupBytes;
    ((sums[v] = AddByteProducts(sums[v],
                                hn::And(JoinPlanes<kLow, kHigh, kQuads>(low + at, high + at), mask),
                                LoadQuad(x + kQuads * 4))),
     ...);
  }
}

/// The indices of the quads of a piece.
template <PieceQuads kPiece, std::size_t... kIndices>
constexpr auto QuadIndices(std::index_sequence<kIndices...> /*indices*/) {
  return std::index_sequence<kPiece.first + kIndices...>();
}

#endif

/// Evenly spaced levels, in one plane or two.
template <int kLow, int kHigh>
struct EvenCodes {
  static constexpr int kBits = kLow + kHigh;
  static constexpr std::size_t kInputBytes = 1;
  static constexpr std::size_t kUnitBytes = kPlaneVector * kBits;
  static constexpr std::size_t kHighPlane = kPlaneVector * kLow;
  static constexpr bool kSigned = false;
  static constexpr bool kSmall = kBits <= 4;
  static constexpr int kStepShift = kBits == 1 ? 1 : 0;

  explicit EvenCodes(const PackedGroups& weights) : bias(weights.format().levels.first) {}

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT x, VInts* sums) const {
    planes += at;
#if HWY_TARGET == HWY_AVX3_DL
    if constexpr (kHigh > 0) {
      constexpr auto kQuads = QuadIndices<kPiece>(std::make_index_sequence<kPiece.count>());
      HALFTONE_UNROLL for (std::size_t unit = 0; unit < kPiece.units; ++unit) {
        const std::uint8_t* from = planes + unit * kUnitBytes;
        SumJoined<kLow, kHigh, kVectors>(from, from + kHighPlane, x + unit * kGroupUnitInputs, sums,
                                         kQuads);
      }
      return;
    }
#endif
    constexpr bool kTwice = kStepShift > 0;
    if constexpr (kHigh > 0 || kTwice) {
      constexpr int kWidth = kTwice ? kLow : kHigh;
      VInts shifted[kVectors];
      HALFTONE_UNROLL for (VInts& sum : shifted) sum = hn::Zero(DInts());
      SumPlane<kWidth, kPiece, kUnitBytes, kVectors>(planes + (kTwice ? 0 : kHighPlane), x,
                                                     shifted);
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        sums[v] = hn::Add(sums[v], hn::ShiftLeft < kTwice ? kStepShift : kLow > (shifted[v]));
      }
    }
    if constexpr (!kTwice) SumPlane<kLow, kPiece, kUnitBytes, kVectors>(planes, x, sums);
  }

  template <std::size_t kQuad>
  HWY_INLINE VBytes Bytes(const std::uint8_t* HWY_RESTRICT planes, std::size_t at) const {
    planes += at;
    const VBytes low = PlaneBytes<kLow, kQuad>(planes);
    if constexpr (kHigh == 0) return low;
    const VBytes high = PlaneBytes<(kHigh == 0 ? 1 : kHigh), kQuad>(planes + kHighPlane);
    return hn::Or(low, ShiftBytesUp<kLow>(high));
  }

  int bias;
};

/// 16 levels in a table.
struct TableCodes {
  static constexpr std::size_t kInputBytes = 1;
  static constexpr std::size_t kUnitBytes = kPlaneVector * 4;
  static constexpr bool kSigned = true;
  static constexpr bool kSmall = false;
  static constexpr int kStepShift = 0;
  static constexpr int bias = -kLevelBias;

  explicit TableCodes(const PackedGroups& weights) {
    alignas(16) std::uint8_t bytes[16];
    for (std::size_t code = 0; code < 16; ++code) {
      bytes[code] = static_cast<std::uint8_t>(weights.format().levels.level(code) + kLevelBias);
    }
    table = hn::LoadDup128(DBytes(), bytes);
  }

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT x, VInts* sums) const {
    planes += at;
    HALFTONE_UNROLL for (std::size_t q = 0; q < kPiece.units * kPiece.count; q += 2) {
      const std::size_t unit = q / kPiece.count;
      const std::size_t quad = kPiece.first + q % kPiece.count;
      const std::uint8_t* from = planes + unit * kUnitBytes + quad / 2 * kPlaneVector;
      const std::int8_t* inputs = x + unit * kGroupUnitInputs + quad * 4;
      const Quad low = LoadQuad(inputs);
      const Quad high = LoadQuad(inputs + 4);
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        const VBytes bytes = hn::Load(DBytes(), from + v * kGroupBytes);
        sums[v] = AddLevelProducts(sums[v], Look(bytes), low);
        sums[v] = AddLevelProducts(sums[v], Look(ShiftBytesDown<4>(bytes)), high);
      }
    }
  }

  template <std::size_t kQuad>
  HWY_INLINE VBytes Bytes(const std::uint8_t* HWY_RESTRICT planes, std::size_t at) const {
    planes += at;
    const VBytes bytes = hn::Load(DBytes(), planes + kQuad / 2 * kPlaneVector);
    return Look(ShiftBytesDown<kQuad % 2 * 4>(bytes));
  }

  /// Levels of the low four bits.
  HWY_INLINE VBytes Look(VBytes bytes) const {
#if HWY_TARGET == HWY_AVX3_DL
    // Ignores the two upper bits; the table repeats.
    return VBytes{_mm512_permutexvar_epi8(bytes.raw, table.raw)};
#else
    return hn::TableLookupBytes(table, hn::And(bytes, hn::Set(DBytes(), std::uint8_t{15})));
#endif
  }

  VBytes table;
};

/// Levels + 128 in a byte each.
struct ByteCodes {
  static constexpr std::size_t kInputBytes = 1;
  static constexpr std::size_t kUnitBytes = kPlaneVector * 8;
  static constexpr bool kSigned = true;
  static constexpr bool kSmall = false;
  static constexpr int kStepShift = 0;
  static constexpr int bias = -kLevelBias;

  explicit ByteCodes(const PackedGroups& /*weights*/) {}

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT x, VInts* sums) const {
    planes += at;
    HALFTONE_UNROLL for (std::size_t q = 0; q < kPiece.units * kPiece.count; ++q) {
      const std::size_t quad = q / kPiece.count * 8 + kPiece.first + q % kPiece.count;
      const Quad inputs = LoadQuad(x + quad * 4);
      HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v) {
        const std::uint8_t* from = planes + quad * kPlaneVector + v * kGroupBytes;
        sums[v] = AddLevelProducts(sums[v], Biased(hn::Load(DBytes(), from)), inputs);
      }
    }
  }

  template <std::size_t kQuad>
  HWY_INLINE VBytes Bytes(const std::uint8_t* HWY_RESTRICT planes, std::size_t at) const {
    planes += at;
    return Biased(PlaneBytes<8, kQuad>(planes));
  }

  static HWY_INLINE VBytes Biased(VBytes bytes) { return LessOffset<(kHasVnni ? 0 : 128)>(bytes); }
};

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
