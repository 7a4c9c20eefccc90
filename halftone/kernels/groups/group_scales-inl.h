// SPDX-License-Identifier: Apache-2.0
// Scales of the groups of a block as float32.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_GROUPS_GROUP_SCALES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_GROUPS_GROUP_SCALES_INL_H_
#undef HALFTONE_KERNELS_GROUPS_GROUP_SCALES_INL_H_
#else
#define HALFTONE_KERNELS_GROUPS_GROUP_SCALES_INL_H_
#endif

#include <hwy/highway.h>

#include <cstring>

#include "halftone/kernels/groups/group_codes-inl.h"
#include "halftone/kernels/groups/group_layout.h"
#include "halftone/kernels/prefetch-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET != HWY_SCALAR && HWY_TARGET != HWY_EMU128

using DGroupFloats = hn::RebindToFloat<DInts>;
using VGroupFloats = hn::Vec<DGroupFloats>;

/// Prefetch distance in bytes.
constexpr std::size_t kGroupsAhead = 8192;

HWY_INLINE VGroupFloats LoadHalves(const std::uint8_t* HWY_RESTRICT from) {
  const hn::Rebind<hwy::float16_t, DGroupFloats> d;
  return hn::PromoteTo(DGroupFloats(), hn::LoadU(d, reinterpret_cast<const hwy::float16_t*>(from)));
}

HWY_INLINE VGroupFloats LoadSignedBytes(const std::uint8_t* HWY_RESTRICT from) {
  const hn::Rebind<std::int8_t, DInts> d;
  const auto bytes = hn::LoadU(d, reinterpret_cast<const std::int8_t*>(from));
  return hn::ConvertTo(DGroupFloats(), hn::PromoteTo(DInts(), bytes));
}

HWY_INLINE VGroupFloats LoadExponents(const std::uint8_t* HWY_RESTRICT from) {
  const hn::Rebind<std::uint8_t, DInts> d;
  return hn::BitCast(DGroupFloats(), hn::ShiftLeft<23>(hn::PromoteTo(DInts(), hn::LoadU(d, from))));
}

/// Numbers of e3m5.
HWY_INLINE VGroupFloats LoadE3m5(const std::uint8_t* HWY_RESTRICT from) {
  const DInts d;
  const hn::Rebind<std::uint8_t, DInts> d8;
  const VInts code = hn::PromoteTo(d, hn::LoadU(d8, from));
  return hn::BitCast(DGroupFloats(), hn::Add(hn::ShiftLeft<18>(code), hn::Set(d, 127 << 23)));
}

/// Numbers of e4m3 without a sign. As float32 with 2^-120 of their exponents, subnormal ones too.
HWY_INLINE VGroupFloats LoadE4m3(const std::uint8_t* HWY_RESTRICT from) {
  const DInts d;
  const hn::Rebind<std::uint8_t, DInts> d8;
  const VInts code = hn::PromoteTo(d, hn::LoadU(d8, from));
  return hn::Mul(hn::BitCast(DGroupFloats(), hn::ShiftLeft<20>(code)),
                 hn::Set(DGroupFloats(), 0x1p120F));
}

/// Of groups with a float16 for all.
inline void DecodeScaleProducts(const std::uint8_t* HWY_RESTRICT from, std::size_t groups,
                                float* HWY_RESTRICT scales) {
  const std::uint8_t* factors = from + 2 * kStripRows;
  for (std::size_t r = 0; r < kStripRows; r += kGroupLanes) {
    const VGroupFloats half = LoadHalves(from + 2 * r);
    for (std::size_t at = r; at < groups * kStripRows; at += kStripRows) {
      hn::Store(hn::Mul(half, LoadSignedBytes(factors + at)), DGroupFloats(), scales + at);
    }
  }
}

/// Scales as store_group_scales() stored them.
/// @param scales  [groups, 64]
inline void DecodeGroupScales(const ScaleForm& storage, const std::uint8_t* HWY_RESTRICT from,
                              std::size_t groups, float* HWY_RESTRICT scales) {
  const DGroupFloats d;
  const std::size_t count = groups * kStripRows;
  switch (storage.how) {
    case GroupScales::kHalfTimesByte:
      return DecodeScaleProducts(from, groups, scales);
    case GroupScales::kHalf:
      for (std::size_t i = 0; i < count; i += kGroupLanes) {
        hn::Store(LoadHalves(from + 2 * i), d, scales + i);
      }
      return;
    case GroupScales::kPowerOfTwo:
      for (std::size_t i = 0; i < count; i += kGroupLanes) {
        hn::Store(LoadExponents(from + i), d, scales + i);
      }
      return;
    case GroupScales::kE3m5:
      for (std::size_t i = 0; i < count; i += kGroupLanes) {
        hn::Store(hn::Mul(hn::Set(d, storage.factor), LoadE3m5(from + i)), d, scales + i);
      }
      return;
    case GroupScales::kE4m3:
      for (std::size_t i = 0; i < count; i += kGroupLanes) {
        hn::Store(hn::Mul(hn::Set(d, storage.factor), LoadE4m3(from + i)), d, scales + i);
      }
      return;
    case GroupScales::kFloat:
      break;
  }
  std::memcpy(scales, from, count * sizeof(float));
}

/// Scales or offsets of a block, as DecodeGroupScales() decoded them.
struct DecodedScales {
  const float* values;  ///< [groups, 64]

  /// to[i] = the scales of vector first + i of a group.
  template <std::size_t kVectors>
  HWY_INLINE void Load(std::size_t group, std::size_t first, VGroupFloats* to) const {
    const float* from = values + group * kStripRows + first * kGroupLanes;
    HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
      to[i] = hn::Load(DGroupFloats(), from + i * kGroupLanes);
    }
  }
};

/// The same as they are stored, other than as kE3m5.
struct StoredScales {
  GroupScales how;
  const std::uint8_t* from;
  float factor;                          ///< of kE4m3
  alignas(64) float halves[kStripRows];  ///< of kHalfTimesByte

  StoredScales(const ScaleForm& stored, const std::uint8_t* bytes)
      : how(stored.how), from(bytes), factor(stored.factor) {
    if (how == GroupScales::kHalfTimesByte) {
      DecodeGroupScales({GroupScales::kHalf}, from, 1, halves);
    }
  }

  template <std::size_t kVectors>
  HWY_INLINE void Load(std::size_t group, std::size_t first, VGroupFloats* to) const {
    const DGroupFloats d;
    const std::size_t at = group * kStripRows + first * kGroupLanes;
    if (how == GroupScales::kHalfTimesByte) {
      HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
        const VGroupFloats half = hn::Load(d, halves + (first + i) * kGroupLanes);
        to[i] = hn::Mul(half, LoadSignedBytes(from + 2 * kStripRows + at + i * kGroupLanes));
      }
    } else if (how == GroupScales::kHalf) {
      HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
        to[i] = LoadHalves(from + 2 * (at + i * kGroupLanes));
      }
    } else if (how == GroupScales::kPowerOfTwo) {
      HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
        to[i] = LoadExponents(from + at + i * kGroupLanes);
      }
    } else if (how == GroupScales::kE4m3) {
      HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
        to[i] = hn::Mul(hn::Set(d, factor), LoadE4m3(from + at + i * kGroupLanes));
      }
    } else {
      HALFTONE_UNROLL for (std::size_t i = 0; i < kVectors; ++i) {
        to[i] = hn::LoadU(d, reinterpret_cast<const float*>(from) + at + i * kGroupLanes);
      }
    }
  }
};

/// sums + (scale x_scale) I, each product and sum rounded.
HWY_INLINE VGroupFloats FoldPiece(VGroupFloats sums, VInts integers, VGroupFloats scale,
                                  VGroupFloats x_scale) {
  const VGroupFloats product =
      hn::Mul(hn::Mul(scale, x_scale), hn::ConvertTo(DGroupFloats(), integers));
  return hn::Add(sums, product);
}

#endif

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
