// SPDX-License-Identifier: Apache-2.0
// Converts between floats and the numbers that a cache stores, once per target.
#if defined(HALFTONE_KERNELS_STORED_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_STORED_INL_H_
#undef HALFTONE_KERNELS_STORED_INL_H_
#else
#define HALFTONE_KERNELS_STORED_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "halftone/base/half.h"

/// Whether the processor converts vectors of halves itself. Highway's own conversions for others
/// lose infinities.
#undef HALFTONE_NATIVE_HALVES
#define HALFTONE_NATIVE_HALVES                                                      \
  (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
   (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64))

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// A vector of stored numbers as floats, exactly.
template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const float* from) {
  return hn::LoadU(d, from);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const std::uint16_t* from) {
#if HALFTONE_NATIVE_HALVES
  const hn::Rebind<hwy::float16_t, D> d16;
  return hn::PromoteTo(d, hn::LoadU(d16, reinterpret_cast<const hwy::float16_t*>(from)));
#else
  // As float_from_half().
  const hn::Rebind<std::uint16_t, D> d16;
  const hn::RebindToUnsigned<D> du;
  const hn::RebindToSigned<D> di;
  const auto bits = hn::PromoteTo(du, hn::LoadU(d16, from));
  const auto magnitude = hn::BitCast(di, hn::And(bits, hn::Set(du, 0x7fff)));
  const auto sign = hn::ShiftLeft<16>(hn::And(bits, hn::Set(du, 0x8000)));
  const auto small = hn::Mul(hn::ConvertTo(d, magnitude), hn::Set(d, 0x1p-24F));
  const auto wide = hn::Add(hn::ShiftLeft<13>(magnitude), hn::Set(di, 112 << 23));
  const auto special = hn::Add(wide, hn::Set(di, 112 << 23));  // infinity or NaN
  const auto large = hn::IfThenElse(hn::Gt(magnitude, hn::Set(di, 0x7bff)), special, wide);
  const auto is_small = hn::Lt(magnitude, hn::Set(di, 0x400));
  const auto chosen = hn::IfThenElse(is_small, hn::BitCast(di, small), large);
  return hn::BitCast(d, hn::Or(hn::BitCast(du, chosen), sign));
#endif
}

/// Pairs of stored integers, each in a lane of 32 bits.
template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const std::int16_t* from) {
#if HWY_TARGET == HWY_SCALAR
  std::int32_t pair;
  std::memcpy(&pair, from, sizeof(pair));
  return hn::Set(d, pair);
#else
  const hn::Repartition<std::int16_t, D> d16;
  return hn::BitCast(d, hn::LoadU(d16, from));
#endif
}

template <class D>
HWY_INLINE hn::Vec<D> LoadStored(D d, const std::int8_t* from) {
#if HWY_TARGET == HWY_SCALAR
  const std::int16_t pair[] = {from[0], from[1]};
  return LoadStored(d, pair);
#else
  const hn::Repartition<std::int16_t, D> d16;
  return hn::BitCast(d,
                     hn::PromoteTo(d16, hn::LoadU(hn::Rebind<std::int8_t, decltype(d16)>(), from)));
#endif
}

/// Stores what LoadStored() returns for floats or for integers of 16 bits.
template <class D>
HWY_INLINE void StoreStored(D d, hn::Vec<D> v, float* to) {
  hn::StoreU(v, d, to);
}
template <class D>
HWY_INLINE void StoreStored(D /*d*/, hn::Vec<D> v, std::int16_t* to) {
#if HWY_TARGET == HWY_SCALAR
  const std::int32_t pair = hn::GetLane(v);
  std::memcpy(to, &pair, sizeof(pair));
#else
  const hn::Repartition<std::int16_t, D> d16;
  hn::StoreU(hn::BitCast(d16, v), d16, to);
#endif
}

/// As half_from_float().
HWY_INLINE void StoreHalves(const float* from, std::size_t count, std::uint16_t* to) {
  std::size_t i = 0;
#if HALFTONE_NATIVE_HALVES
  const hn::CappedTag<float, 16> d;
  const hn::Rebind<hwy::float16_t, decltype(d)> d16;
  const auto nan = hn::Set(d, std::numeric_limits<float>::quiet_NaN());
  for (; i + hn::Lanes(d) <= count; i += hn::Lanes(d)) {
    const auto x = hn::LoadU(d, from + i);
    const auto one_nan = hn::IfThenElse(hn::Eq(x, x), x, hn::CopySign(nan, x));
    hn::StoreU(hn::DemoteTo(d16, one_nan), d16, reinterpret_cast<hwy::float16_t*>(to + i));
  }
#endif
  for (; i < count; ++i) to[i] = half_from_float(from[i]);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_STORED_INL_H_
