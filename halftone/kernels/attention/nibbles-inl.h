// SPDX-License-Identifier: Apache-2.0
// Decodes caches of 4 bits to floats, once per target; cache.h has the layout. All results are
// exact.
#if defined(HALFTONE_KERNELS_NIBBLES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_NIBBLES_INL_H_
#undef HALFTONE_KERNELS_NIBBLES_INL_H_
#else
#define HALFTONE_KERNELS_NIBBLES_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>

#include "halftone/kernels/attention/cache.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What the codes of a group mean: unit code + first.
template <class V>
struct Steps {
  V unit;
  V first;
};

/// The steps of a group of some tokens.
/// @param marks  the group's bytes of its panel, from the first of these tokens on
template <class D>
HWY_INLINE Steps<hn::Vec<D>> LoadSteps(D d, const std::uint8_t* marks) {
  using numerics::NibbleGroup;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto codes = hn::PromoteTo(du, hn::LoadU(d8, marks));
  const auto bits =
      hn::ShiftLeft<NibbleGroup::kUnitShift>(hn::Add(codes, hn::Set(du, NibbleGroup::kUnitBias)));
  const auto is_nan = hn::RebindMask(d, hn::Eq(codes, hn::Set(du, NibbleGroup::kNan)));
  const auto unit = hn::IfThenElse(is_nan, hn::Set(d, std::numeric_limits<float>::quiet_NaN()),
                                   hn::BitCast(d, bits));
  const hn::Rebind<std::int8_t, D> d8i;
  const auto* offsets = reinterpret_cast<const std::int8_t*>(marks) + CacheShape::kPanelTokens;
  const auto eighths = hn::ConvertTo(d, hn::PromoteTo(di, hn::LoadU(d8i, offsets)));
  return {unit, hn::Mul(hn::Mul(unit, hn::Set(d, 0.125F)), eighths)};
}

/// Stores the numbers of the lower and of the upper bits of some bytes.
template <class D>
HWY_INLINE void StoreNumbers(D d, const std::uint8_t* from, const Steps<hn::Vec<D>>& steps,
                             float* lower, float* upper) {
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const hn::Rebind<std::uint8_t, D> d8;
  const auto bytes = hn::PromoteTo(du, hn::LoadU(d8, from));
  const auto store = [&](hn::Vec<decltype(du)> codes, float* to) HWY_ATTR {
    const auto numbers = hn::ConvertTo(d, hn::BitCast(di, codes));
    hn::StoreU(hn::Add(hn::Mul(numbers, steps.unit), steps.first), d, to);
  };
  store(hn::And(bytes, hn::Set(du, 15)), lower);
  store(hn::ShiftRight<4>(bytes), upper);
}

/// A panel of keys, as one of floats.
/// @param size  numbers of a key: those of its padding are not decoded, but for one
HWY_NOINLINE void DecodeKeyPanel(const std::byte* panel, const std::byte* marks, std::size_t size,
                                 float* to) {
  constexpr std::size_t kTokens = CacheShape::kPanelTokens;
  constexpr std::size_t kNumbers = numerics::NibbleGroup::kNumbers;
  const hn::CappedTag<float, kTokens> d;
  const auto* codes = reinterpret_cast<const std::uint8_t*>(panel);
  const auto* group = reinterpret_cast<const std::uint8_t*>(marks);
  for (std::size_t begin = 0; begin < size; begin += kNumbers, group += 2 * kTokens) {
    const std::size_t end = std::min(size, begin + kNumbers);
    for (std::size_t l = 0; l < kTokens; l += hn::Lanes(d)) {
      const auto steps = LoadSteps(d, group + l);
      for (std::size_t i = begin; i < end; i += 2) {
        float* const lower = to + i * kTokens + l;
        StoreNumbers(d, codes + i / 2 * kTokens + l, steps, lower, lower + kTokens);
      }
    }
  }
}

/// A value, as one of floats; what its padding becomes is finite where the value is.
/// @param row    numbers of a value with its padding
/// @param marks  those of the panel, from the token on
HWY_INLINE void DecodeValue(const std::byte* value, const std::byte* marks, std::size_t row,
                            float* to) {
  constexpr std::size_t kNumbers = numerics::NibbleGroup::kNumbers;
  const hn::CappedTag<float, 8> d;
  const auto* codes = reinterpret_cast<const std::uint8_t*>(value);
  const auto* group = reinterpret_cast<const std::uint8_t*>(marks);
  for (std::size_t begin = 0; begin < row; begin += kNumbers) {
    const numerics::NibbleGroup of{group[0],
                                   static_cast<std::int8_t>(group[CacheShape::kPanelTokens])};
    const Steps<hn::Vec<decltype(d)>> steps{hn::Set(d, of.unit()), hn::Set(d, of.first())};
    const std::size_t end = std::min(row, begin + kNumbers);
    for (std::size_t i = begin; i < end; i += 16) {
      for (std::size_t l = 0; l < 8; l += hn::Lanes(d)) {
        StoreNumbers(d, codes + i / 2 + l, steps, to + i + l, to + i + 8 + l);
      }
    }
    group += 2 * CacheShape::kPanelTokens;
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_NIBBLES_INL_H_
