// SPDX-License-Identifier: Apache-2.0
// Unpacks caches of 6 bits to integers of 16, in the order of kInt8, once per target; cache.h has
// both layouts.
#if defined(HALFTONE_KERNELS_SIX_BITS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_SIX_BITS_INL_H_
#undef HALFTONE_KERNELS_SIX_BITS_INL_H_
#else
#define HALFTONE_KERNELS_SIX_BITS_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "halftone/kernels/attention/cache.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR
/// Numbers of `tokens` tokens.
template <const NumberPlaces& kPlaces>
void UnpackTokens(const std::byte* from, std::size_t tokens, std::size_t row, std::int16_t* to) {
  const CacheShape packed{1, tokens, 1, row, CacheType::kInt6};
  const CacheShape pairs{1, tokens, 1, row, CacheType::kInt8};
  for (std::size_t t = 0; t < tokens; ++t) {
    for (std::size_t i = 0; i < row; ++i) {
      const unsigned code =
          (packed.*kPlaces.nibble)(t, i).load(from) + 16 * (packed.*kPlaces.top)(t, i).load(from);
      to[(pairs.*kPlaces.index)(t, i)] = static_cast<std::int16_t>(code - kInt6Offset);
    }
  }
}

HWY_INLINE void UnpackKeyPanel(const std::byte* panel, std::size_t row, std::int16_t* to) {
  UnpackTokens<kKeyPlaces>(panel, CacheShape::kPanelTokens, row, to);
}
HWY_INLINE void UnpackValues(const std::byte* values, std::size_t row, std::size_t tokens,
                             std::int16_t* to) {
  UnpackTokens<kValuePlaces>(values, tokens, row, to);
}
#else

using CodeTag = hn::Full128<std::uint8_t>;
using Codes = hn::Vec<CodeTag>;

/// Shifts in lanes of 16 bits: bits of the neighbour are to be masked.
template <int kBits, class V>
HWY_INLINE V ShiftBytesLeft(V v) {
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> d16;
  return hn::BitCast(d, hn::ShiftLeft<kBits>(hn::BitCast(d16, v)));
}
template <int kBits, class V>
HWY_INLINE V ShiftBytesRight(V v) {
  const hn::DFromV<V> d;
  const hn::RepartitionToWide<decltype(d)> d16;
  return hn::BitCast(d, hn::ShiftRight<kBits>(hn::BitCast(d16, v)));
}

/// Codes of the lower bits of some bytes.
/// @param top  their upper bits, in bits 4 and 5
HWY_INLINE Codes LowerCodes(Codes nibbles, Codes top) {
  const CodeTag d;
  return hn::Or(hn::And(nibbles, hn::Set(d, 15)), hn::And(top, hn::Set(d, 48)));
}
/// Those of the upper bits.
HWY_INLINE Codes UpperCodes(Codes nibbles, Codes top) {
  return LowerCodes(ShiftBytesRight<4>(nibbles), top);
}

/// Stores 16 codes as integers.
template <class D = hn::CappedTag<std::int16_t, 16> >
HWY_INLINE void StoreIntegers(Codes codes, std::int16_t* to) {
  const CodeTag d;
  const hn::RebindToSigned<CodeTag> d8;
  const D d16;
  const auto q = hn::BitCast(d8, hn::Sub(codes, hn::Set(d, kInt6Offset)));
  if constexpr (hn::MaxLanes(d16) == 16) {
    hn::StoreU(hn::PromoteTo(d16, q), d16, to);
  } else {
    const hn::Half<decltype(d8)> half;
    hn::StoreU(hn::PromoteTo(d16, hn::LowerHalf(half, q)), d16, to);
    hn::StoreU(hn::PromoteTo(d16, hn::UpperHalf(half, q)), d16, to + 8);
  }
}

/// A panel of keys.
/// @param row  numbers of a key with its padding
HWY_NOINLINE void UnpackKeyPanel(const std::byte* panel, std::size_t row,
                                 std::int16_t* HWY_RESTRICT to) {
  constexpr std::size_t kTokens = CacheShape::kPanelTokens;
  const CodeTag d;
  const auto* HWY_RESTRICT nibbles = reinterpret_cast<const std::uint8_t*>(panel);
  const auto* HWY_RESTRICT tops = nibbles + row / 2 * kTokens;
  const auto store_pairs = [&](Codes first, Codes second, std::int16_t* pairs) HWY_ATTR {
    StoreIntegers(hn::InterleaveLower(d, first, second), pairs);
    StoreIntegers(hn::InterleaveUpper(d, first, second), pairs + kTokens);
  };
  for (std::size_t i = 0; i < row; i += 4) {
    const auto low = hn::LoadU(d, nibbles + i / 2 * kTokens);
    const auto high = hn::LoadU(d, nibbles + (i / 2 + 1) * kTokens);
    const auto top = hn::LoadU(d, tops + i / 4 * kTokens);
    store_pairs(LowerCodes(low, ShiftBytesLeft<4>(top)), UpperCodes(low, ShiftBytesLeft<2>(top)),
                to + i * kTokens);
    store_pairs(LowerCodes(high, top), UpperCodes(high, ShiftBytesRight<2>(top)),
                to + (i + 2) * kTokens);
  }
}

/// Values of an even number of tokens.
/// @param row  numbers of a value with its padding
HWY_NOINLINE void UnpackValues(const std::byte* values, std::size_t row, std::size_t tokens,
                               std::int16_t* HWY_RESTRICT to) {
  const CodeTag d;
  const hn::Half<CodeTag> half;
  const auto* HWY_RESTRICT nibbles = reinterpret_cast<const std::uint8_t*>(values);
  for (std::size_t t = 0; t < tokens; t += 2, nibbles += row * 3 / 2) {
    const auto* HWY_RESTRICT tops = nibbles + row;
    for (std::size_t i = 0; i < row; i += 16, to += 32) {
      const auto codes = hn::LoadU(d, nibbles + i);
      const auto top = hn::LoadU(half, tops + i / 2);
      const auto first = hn::Combine(d, ShiftBytesLeft<2>(top), ShiftBytesLeft<4>(top));
      const auto second = hn::Combine(d, ShiftBytesRight<2>(top), top);
      StoreIntegers(LowerCodes(codes, first), to);
      StoreIntegers(UpperCodes(codes, second), to + 16);
    }
  }
}
#endif  // HWY_TARGET == HWY_SCALAR

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_SIX_BITS_INL_H_
