// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/requantize.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/encode/linear_codes.h"

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

/// Rounds twice, in integer arithmetic.
class InIntegers {
 public:
  explicit HWY_INLINE InIntegers(const Requantization& how) : how_(how) {}
  HWY_INLINE VInt operator()(VInt x, std::size_t column) const {
    const DInt d;
    const VInt shifted = x << hn::LoadU(d, how_.left_shifts() + column);
    const VInt product = DoublingHighMul(shifted, hn::LoadU(d, how_.mantissas() + column));
    const VInt y = ShiftedRight(product, hn::LoadU(d, how_.right_shifts() + column));
    const VInt code = hn::Add(y, hn::Set(d, how_.bounds().zero_point));
    return hn::Min(hn::Max(code, hn::Set(d, how_.bounds().low)), hn::Set(d, how_.bounds().high));
  }

 private:
  const Requantization& how_;
};

/// Rounds the float64 product once. The bounds are whole, so that they may come before rounding.
/// @tparam kAway  ties away from zero instead of to even
template <bool kAway>
class Once {
 public:
  explicit HWY_INLINE Once(const Requantization& how)
      : factors_(how.factors()),
        zero_point_(how.bounds().zero_point),
        low_(hn::Set(D(), how.bounds().low - zero_point_)),
        high_(hn::Set(D(), how.bounds().high - zero_point_)) {}
  HWY_INLINE VInt operator()(VInt x, std::size_t column) const {
    const DInt d;
    const VInt zero = hn::Set(d, zero_point_);
#if HWY_TARGET == HWY_SCALAR
    return hn::Add(Rounded(x, factors_ + column), zero);
#else
    const DHalf half;
    const auto lower = Rounded(hn::LowerHalf(half, x), factors_ + column);
    const auto upper = Rounded(hn::UpperHalf(half, x), factors_ + column + hn::Lanes(half));
    return hn::Add(hn::Combine(d, upper, lower), zero);
#endif
  }

 private:
#if HWY_TARGET == HWY_SCALAR
  using DHalf = DInt;
#else
  using DHalf = hn::Half<DInt>;
#endif
  using D = hn::Rebind<double, DHalf>;

  /// Adding a constant so large that no fraction bits remain rounds ties to even, and leaves the
  /// integer in the low half of the sum.
  HWY_INLINE hn::Vec<DHalf> Rounded(hn::Vec<DHalf> x, const double* factors) const {
    const D d;
    const auto magic = hn::Set(d, 6755399441055744.0);  // 1.5 * 2^52
    const auto product = hn::Mul(hn::PromoteTo(d, x), hn::LoadU(d, factors));
    const auto y = hn::Min(hn::Max(product, low_), high_);
    auto sum = hn::Add(y, magic);
    if constexpr (kAway) {
      const auto rest = hn::Sub(y, hn::Sub(sum, magic));  // exact
      const auto zero = hn::Zero(d);
      const auto one = hn::Set(d, 1.0);
      const auto half = hn::Set(d, 0.5);
      const auto up = hn::And(hn::Eq(rest, half), hn::Gt(y, zero));
      const auto down = hn::And(hn::Eq(rest, hn::Neg(half)), hn::Lt(y, zero));
      sum = hn::Sub(hn::Add(sum, hn::IfThenElseZero(up, one)), hn::IfThenElseZero(down, one));
    }
    const hn::Rebind<std::uint64_t, D> d64;
    const hn::Rebind<std::uint32_t, D> d32;
    return hn::BitCast(DHalf(), hn::TruncateTo(d32, hn::BitCast(d64, sum)));
  }

  const double* factors_;
  std::int32_t zero_point_;
  hn::Vec<D> low_;
  hn::Vec<D> high_;
};

template <class Convert, typename Code>
HWY_INLINE void RequantizeCodes(std::span<const std::int32_t> x, const Requantization& how,
                                Code* HWY_RESTRICT q) {
  const DInt d;
  const hn::Rebind<Code, DInt> codes;
  const std::size_t lanes = hn::Lanes(d);
  const Convert convert(how);
  const std::size_t period = how.period();
  std::size_t i = 0;
  std::size_t column = 0;
  for (; i + lanes <= x.size(); i += lanes) {
    hn::StoreU(hn::DemoteTo(codes, convert(hn::LoadU(d, &x[i]), column)), codes, q + i);
    column = column + lanes == period ? 0 : column + lanes;
  }
  if (i == x.size()) return;
  std::int32_t rest[hn::MaxLanes(DInt())] = {};
  Code rest_q[hn::MaxLanes(DInt())];
  std::memcpy(rest, &x[i], (x.size() - i) * sizeof(std::int32_t));
  hn::StoreU(hn::DemoteTo(codes, convert(hn::LoadU(d, rest), column)), codes, rest_q);
  std::memcpy(q + i, rest_q, x.size() - i);
}

template <typename Code>
HWY_INLINE void RequantizeAs(std::span<const std::int32_t> x, const Requantization& how, Code* q) {
  switch (how.rounding()) {
    case SumRounding::kTwice:
      return RequantizeCodes<InIntegers>(x, how, q);
    case SumRounding::kHalfEven:
      return RequantizeCodes<Once<false>>(x, how, q);
    case SumRounding::kHalfAway:
      return RequantizeCodes<Once<true>>(x, how, q);
  }
}

void ToInt8(std::span<const std::int32_t> x, const Requantization& how, std::int8_t* q) {
  RequantizeAs(x, how, q);
}

void ToUint8(std::span<const std::int32_t> x, const Requantization& how, std::uint8_t* q) {
  RequantizeAs(x, how, q);
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
