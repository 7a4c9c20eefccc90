// SPDX-License-Identifier: Apache-2.0
// Codes of a vector basis: their products with activations, and their bytes.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_VECTORS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_VECTORS_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_VECTORS_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_VECTORS_INL_H_
#endif

#include <hwy/highway.h>

#include <utility>

#include "halftone/kernels/groups/group_block-inl.h"
#include "halftone/kernels/groups/group_codes-inl.h"
#include "halftone/kernels/groups/vector_tables.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

/// Whether a look-up has 64 entries and ignores the bits above its index.
constexpr bool kLooksUpSixBits = HWY_TARGET == HWY_AVX3_DL;

/// Codes of kSigns bits, each of kNumbers numbers: sums of table entries, modulo 256. Quad q of a
/// unit is number q mod d of code vector q / d.
template <std::size_t kNumbers, int kSigns>
struct VectorCodes {
  static constexpr std::size_t kInputBytes = 1;
  static constexpr std::size_t kUnitBytes = kPlaneVector / kNumbers * kSigns;
  static constexpr bool kSigned = true;
  static constexpr bool kSmall = false;
  static constexpr int kStepShift = 0;
  static constexpr int bias = -kLevelBias;

  static constexpr CodePlanes kPlanes{kSigns};
  static constexpr bool kIsSix = kPlanes.field_bits() == 6;
  static constexpr auto kSignPlanes = static_cast<std::size_t>(kPlanes.sign_planes());
  static constexpr std::size_t kCodeVectors = kGroupUnitInputs / 4 / kNumbers;
  static constexpr std::size_t kHighPlane = kPlaneVector * kCodeVectors / 2;
  static constexpr std::size_t kFieldBytes = kPlaneVector * kCodeVectors * kPlanes.field_bits() / 8;
  static constexpr std::size_t kSignBytes = kPlaneVector * kCodeVectors / 8;
  /// Whether one look-up takes both fields.
  static constexpr bool kIsOneTable = kIsSix && kLooksUpSixBits;
  /// Whether the look-up of the upper field takes the signs.
  static constexpr bool kLooksUpSigns = !kIsSix && kLooksUpSixBits;

  explicit VectorCodes(const PackedGroups& weights) {
    const VectorTables& tables = weights.tables();
    for (std::size_t j = 0; j < kNumbers; ++j) {
      low[j] = Table(tables.low[j].data());
      low[j] = hn::Add(low[j], hn::Set(DBytes(), static_cast<std::uint8_t>(kLevelBias)));
      if constexpr (!kIsOneTable) {
        high[j] = Table(tables.high[j].data());
      }
      for (std::size_t m = 0; m < kSignPlanes; ++m) {
        signs[j][m] = hn::Set(DBytes(), static_cast<std::uint8_t>(tables.signs[j][m]));
      }
    }
  }

  template <PieceQuads kPiece, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void Sum(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                    const std::int8_t* HWY_RESTRICT x, VInts* sums) const {
    static_assert(kPiece.count * 4 == kGroupUnitInputs);
    HALFTONE_UNROLL for (std::size_t unit = 0; unit < kPiece.units; ++unit) {
      SumUnit<kVectors>(planes + unit * kUnitBytes, at, x + unit * kGroupUnitInputs, sums,
                        std::make_index_sequence<kCodeVectors>());
    }
  }

  template <std::size_t kQuad>
  HWY_INLINE VBytes Bytes(const std::uint8_t* HWY_RESTRICT planes, std::size_t at) const {
    return Levels<kQuad % kNumbers>(
        FieldsOf<kQuad / kNumbers>(planes + at, planes + kFieldBytes + at / 8));
  }

 private:
  using SignMask = hn::Mask<DBytes>;
  /// What a vector of codes looks up.
  struct Fields {
    HWY_INLINE Fields() {}  // an implicit one is not compiled for the target
    VBytes low;
    VBytes high;
    SignMask signs[2];
  };

  static HWY_INLINE VBytes Table(const std::int8_t* entries) {
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(entries);
    if constexpr (kLooksUpSixBits) return hn::LoadU(DBytes(), bytes);
    return hn::LoadDup128(DBytes(), bytes);
  }

  template <std::size_t kVector>
  static HWY_INLINE Fields FieldsOf(const std::uint8_t* HWY_RESTRICT planes,
                                    const std::uint8_t* HWY_RESTRICT sign_planes) {
    Fields fields;
    if constexpr (kIsOneTable) {
#if HWY_TARGET == HWY_AVX3_DL
      fields.low = JoinPlanes<4, 2, kVector>(planes, planes + kHighPlane);
#endif
    } else if constexpr (kIsSix) {
      fields.low = PlaneBytes<4, kVector>(planes);
      fields.high = PlaneBytes<2, kVector>(planes + kHighPlane);
    } else {
      const VBytes bytes = hn::Load(DBytes(), planes + kVector * kPlaneVector);
      const VBytes nibble = hn::Set(DBytes(), std::uint8_t{15});
      fields.low = kLooksUpSixBits ? bytes : hn::And(bytes, nibble);
      fields.high = ShiftBytesDown<4>(bytes);
      // Where 64 entries repeat 16, the bits above need not be cleared.
      if constexpr (!kLooksUpSixBits || kSignPlanes > 0) {
        fields.high = hn::And(fields.high, nibble);
      }
    }
    HALFTONE_UNROLL for (std::size_t m = 0; m < kSignPlanes; ++m) {
      fields.signs[m] =
          hn::LoadMaskBits(DBytes(), sign_planes + m * kSignBytes + kVector * (kPlaneVector / 8));
    }
    if constexpr (kLooksUpSigns) {
      HALFTONE_UNROLL for (std::size_t m = 0; m < kSignPlanes; ++m) {
        const VBytes bit = hn::Set(DBytes(), static_cast<std::uint8_t>(16 << m));
        fields.high = AddWhere(fields.signs[m], fields.high, bit);
      }
    }
    return fields;
  }

  static HWY_INLINE VBytes Look(VBytes table, VBytes index) {
#if HWY_TARGET == HWY_AVX3_DL
    return VBytes{_mm512_permutexvar_epi8(index.raw, table.raw)};
#else
    return hn::TableLookupBytes(table, index);
#endif
  }

  static HWY_INLINE VBytes AddWhere(SignMask mask, VBytes to, VBytes value) {
#if HWY_TARGET == HWY_AVX3_DL || HWY_TARGET == HWY_AVX3
    return VBytes{_mm512_mask_add_epi8(to.raw, mask.raw, to.raw, value.raw)};
#else
    return hn::Add(to, hn::IfThenElseZero(mask, value));
#endif
  }

  /// Number kNumber of each codeword, + kLevelBias.
  template <std::size_t kNumber>
  HWY_INLINE VBytes Levels(const Fields& fields) const {
    VBytes levels = Look(low[kNumber], fields.low);
    if constexpr (!kIsOneTable) levels = hn::Add(levels, Look(high[kNumber], fields.high));
    if constexpr (!kLooksUpSigns) {
      HALFTONE_UNROLL for (std::size_t m = 0; m < kSignPlanes; ++m) {
        levels = AddWhere(fields.signs[m], levels, signs[kNumber][m]);
      }
    }
    return levels;
  }

  template <std::size_t... kNumber>
  HALFTONE_VNNI HWY_INLINE VInts SumCodewords(VInts sum, const Fields& fields, const Quad* x,
                                              std::index_sequence<kNumber...> /*numbers*/) const {
    ((sum = AddLevelProducts(sum, Levels<kNumber>(fields), x[kNumber])), ...);
    return sum;
  }

  /// sums[v] += products of code vector kVector of a unit, of neighbouring vectors of rows.
  template <std::size_t kVector, std::size_t kVectors>
  HALFTONE_VNNI HWY_INLINE void SumVector(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                          const std::int8_t* HWY_RESTRICT x, VInts* sums) const {
    Quad quads[kNumbers];
    HALFTONE_UNROLL for (std::size_t j = 0; j < kNumbers; ++j) quads[j] = LoadQuad(x + j * 4);
    HALFTONE_UNROLL for (std::size_t v = 0; v < kVectors; ++v, at += kGroupBytes) {
      const Fields fields = FieldsOf<kVector>(planes + at, planes + kFieldBytes + at / 8);
      sums[v] = SumCodewords(sums[v], fields, quads, std::make_index_sequence<kNumbers>());
    }
  }

  template <std::size_t kVectors, std::size_t... kVector>
  HALFTONE_VNNI HWY_INLINE void SumUnit(const std::uint8_t* HWY_RESTRICT planes, std::size_t at,
                                        const std::int8_t* HWY_RESTRICT x, VInts* sums,
                                        std::index_sequence<kVector...> /*vectors*/) const {
    (SumVector<kVector, kVectors>(planes, at, x + kVector * 4 * kNumbers, sums), ...);
  }

  VBytes low[kNumbers];
  VBytes high[kNumbers];
  VBytes signs[kNumbers][2];
};

/// Sums of more than one vector hide how long each of their additions takes.
template <std::size_t kNumbers, int kSigns>
constexpr std::size_t kVectorsOfCodes<VectorCodes<kNumbers, kSigns>> =
    kVectorsAtOnce > 2 ? kVectorsAtOnce : 2;

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
