// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/requantize.cc"
#include "halftone/kernels/encode/requantize.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DInt = hn::CappedTag<std::int32_t, Requantization::kLanes>;
using VInt = hn::Vec<DInt>;

/// floor((x m + 2^30) / 2^31). Even and odd lanes are multiplied separately: bits 31 and up of the
/// even products are shifted down, those of the odd products into the upper half.
HWY_INLINE VInt DoublingHighMul(VInt x, VInt m) {
#if HWY_TARGET == HWY_SCALAR
  const std::int64_t product = std::int64_t{hn::GetLane(x)} * hn::GetLane(m);
  return hn::Set(DInt(), static_cast<std::int32_t>((product + (std::int64_t{1} << 30)) >> 31));
#else
  const hn::RepartitionToWide<DInt> wide;
  const hn::RebindToUnsigned<decltype(wide)> bits;
  const auto half = hn::Set(wide, std::int64_t{1} << 30);
  const auto odd = [&](VInt v) HWY_ATTR {
    return hn::BitCast(DInt(), hn::ShiftRight<32>(hn::BitCast(bits, v)));
  };
  const auto even_product = hn::BitCast(bits, hn::Add(hn::MulEven(x, m), half));
  const auto odd_product = hn::BitCast(bits, hn::Add(hn::MulEven(odd(x), odd(m)), half));
  return hn::OddEven(hn::BitCast(DInt(), hn::ShiftLeft<1>(odd_product)),
                     hn::BitCast(DInt(), hn::ShiftRight<31>(even_product)));
#endif
}

/// x / 2^bits to nearest, ties away from zero; see numerics::shifted_right().
HWY_INLINE VInt ShiftedRight(VInt x, VInt bits) {
  const DInt d;
  const VInt max = hn::Set(d, hwy::LimitsMax<std::int32_t>());
  const VInt mask = max >> hn::Sub(hn::Set(d, 31), bits);            // the bits shifted out
  const VInt negative = hn::VecFromMask(d, hn::Lt(x, hn::Zero(d)));  // -1 where it is
  const VInt threshold = hn::Sub(hn::ShiftRight<1>(mask), negative);
  const auto up = hn::Gt(hn::And(x, mask), threshold);
  return hn::Sub(x >> bits, hn::VecFromMask(d, up));
}

template <typename Code>
HWY_INLINE void RequantizeCodes(std::span<const std::int32_t> x, const Requantization& how,
                                Code* HWY_RESTRICT q) {
  const DInt d;
  const hn::Rebind<Code, DInt> codes;
  const std::size_t lanes = hn::Lanes(d);
  const VInt zero_point = hn::Set(d, how.bounds().zero_point);
  const VInt low = hn::Set(d, how.bounds().low);
  const VInt high = hn::Set(d, how.bounds().high);
  const auto convert = [&](const std::int32_t* from, std::size_t column, Code* to) HWY_ATTR {
    const VInt shifted = hn::LoadU(d, from) << hn::LoadU(d, how.left_shifts() + column);
    const VInt product = DoublingHighMul(shifted, hn::LoadU(d, how.mantissas() + column));
    const VInt y = ShiftedRight(product, hn::LoadU(d, how.right_shifts() + column));
    const VInt code = hn::Min(hn::Max(hn::Add(y, zero_point), low), high);
    hn::StoreU(hn::DemoteTo(codes, code), codes, to);
  };
  std::size_t i = 0;
  std::size_t column = 0;
  for (; i + lanes <= x.size(); i += lanes) {
    convert(&x[i], column, q + i);
    column = column + lanes == how.period() ? 0 : column + lanes;
  }
  if (i == x.size()) return;
  std::int32_t rest[hn::MaxLanes(DInt())] = {};
  Code rest_q[hn::MaxLanes(DInt())];
  std::memcpy(rest, &x[i], (x.size() - i) * sizeof(std::int32_t));
  convert(rest, column, rest_q);
  std::memcpy(q + i, rest_q, x.size() - i);
}

void ToInt8(std::span<const std::int32_t> x, const Requantization& how, std::int8_t* q) {
  RequantizeCodes(x, how, q);
}

void ToUint8(std::span<const std::int32_t> x, const Requantization& how, std::uint8_t* q) {
  RequantizeCodes(x, how, q);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(ToInt8);
HALFTONE_EXPORT(ToUint8);

void requantize(std::span<const std::int32_t> x, const Requantization& how,
                std::span<std::int8_t> q) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(ToInt8)(x, how, q.data());
}

void requantize(std::span<const std::int32_t> x, const Requantization& how,
                std::span<std::uint8_t> q) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(ToUint8)(x, how, q.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
