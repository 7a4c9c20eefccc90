// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/encode/linear_codes.cc"
#include "halftone/kernels/encode/linear_codes.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/kernels/dispatch.h"

/// Whether MulAdd rounds once.
#undef HALFTONE_FUSES_MUL_ADD
#if HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL || \
    (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
#define HALFTONE_FUSES_MUL_ADD 1
#else
#define HALFTONE_FUSES_MUL_ADD 0
#endif

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DInt = hn::CappedTag<std::int32_t, 16>;
using VInt = hn::Vec<DInt>;
using DFloat = hn::RebindToFloat<DInt>;
using VFloat = hn::Vec<DFloat>;

/// min(max(x, low), high); NaN stays NaN.
HWY_INLINE VFloat Bounded(VFloat x, VFloat low, VFloat high) {
  x = hn::IfThenElse(hn::Lt(x, low), low, x);
  return hn::IfThenElse(hn::Gt(x, high), high, x);
}

/// x / scale, rounded as a division does, which takes three times as long where multiplications and
/// additions are fused: quotients of the rounded reciprocal are off by two units in the last place
/// at most, and their remainders are exact. The second correction gives the rounded quotient.
/// Source: Markstein, Computation of elementary functions on the IBM RISC System/6000 processor,
/// 1990, theorem 8.
class Divider {
 public:
  explicit HWY_INLINE Divider(float scale)
      : scale_(hn::Set(DFloat(), scale)),
        inverse_(hn::Set(DFloat(), 1 / scale)),
        largest_(hn::Set(DFloat(), kFar * scale)),
        is_usual_(scale >= 1e-30F && scale <= 1e30F) {}
  /// @return at most kFar in magnitude; NaN for NaN
  HWY_INLINE VFloat operator()(VFloat x) const {
    const DFloat d;
#if HALFTONE_FUSES_MUL_ADD
    if (is_usual_) {
      x = Bounded(x, hn::Neg(largest_), largest_);
      VFloat q = hn::Mul(x, inverse_);
      q = hn::MulAdd(hn::NegMulAdd(q, scale_, x), inverse_, q);
      return hn::MulAdd(hn::NegMulAdd(q, scale_, x), inverse_, q);
    }
#endif
    return Bounded(hn::Div(x, scale_), hn::Set(d, -kFar), hn::Set(d, kFar));
  }

 private:
  /// Exceeds every code, and is small enough to be rounded by an addition.
  static constexpr float kFar = 1e6F;

  VFloat scale_;
  [[maybe_unused]] VFloat inverse_;
  [[maybe_unused]] VFloat largest_;
  [[maybe_unused]] bool is_usual_;  ///< no product with it overflows or loses bits
};

/// See CodeRounder.
class Rounder {
 public:
  explicit HWY_INLINE Rounder(const CodeRounder& how)
      : divide_(how.scale),
        zero_point_(Set(static_cast<float>(how.bounds.zero_point))),
        low_(Set(static_cast<float>(how.bounds.low))),
        high_(Set(static_cast<float>(how.bounds.high))),
        half_away_(how.half_away) {}

  HWY_INLINE VInt operator()(VFloat x) const {
    const DFloat d;
    const VFloat magic = Set(12582912.0F);  // 1.5 * 2^23: no fraction bits remain
    const VFloat steps = divide_(x);
    VFloat whole = hn::Sub(hn::Add(steps, magic), magic);
    if (half_away_) whole = AwayAtTies(steps, whole);
    const VFloat code = Bounded(hn::Add(whole, zero_point_), low_, high_);
    return hn::ConvertTo(DInt(), hn::IfThenElse(hn::Eq(code, code), code, hn::Zero(d)));
  }

 private:
  static HWY_INLINE VFloat Set(float x) { return hn::Set(DFloat(), x); }
  static HWY_INLINE VFloat AwayAtTies(VFloat x, VFloat even) {
    const VFloat zero = hn::Zero(DFloat());
    const VFloat rest = hn::Sub(x, even);  // exact
    const auto up = hn::And(hn::Eq(rest, Set(0.5F)), hn::Gt(x, zero));
    const auto down = hn::And(hn::Eq(rest, Set(-0.5F)), hn::Lt(x, zero));
    even = hn::IfThenElse(up, hn::Add(even, Set(1)), even);
    return hn::IfThenElse(down, hn::Sub(even, Set(1)), even);
  }

  Divider divide_;
  VFloat zero_point_;
  VFloat low_;
  VFloat high_;
  bool half_away_;
};

/// Numbers of codes.
class Numbers {
 public:
  explicit HWY_INLINE Numbers(CodeScale scale)
      : scale_(hn::Set(DFloat(), scale.scale)), zero_point_(hn::Set(DInt(), scale.zero_point)) {}
  HWY_INLINE VFloat operator()(VInt q) const {
    return hn::Mul(scale_, hn::ConvertTo(DFloat(), hn::Sub(q, zero_point_)));
  }

 private:
  VFloat scale_;
  VInt zero_point_;
};

/// The function of two numbers of a kind.
template <PairKind kKind, class V>
HWY_INLINE V Combined(V a, V b) {
  if constexpr (kKind == PairKind::kSum) return hn::Add(a, b);
  if constexpr (kKind == PairKind::kDifference) return hn::Sub(a, b);
  return hn::Mul(a, b);
}

template <PairKind kKind>
class InFloats {
 public:
  explicit HWY_INLINE InFloats(const FloatPair& how)
      : a_(how.a),
        b_(how.b),
        low_(hn::Set(DFloat(), how.low)),
        high_(hn::Set(DFloat(), how.high)),
        rounder_(how.y) {}
  HWY_INLINE VInt operator()(VInt a, VInt b) const {
    return rounder_(Bounded(Combined<kKind>(a_(a), b_(b)), low_, high_));
  }

 private:
  Numbers a_;
  Numbers b_;
  VFloat low_;
  VFloat high_;
  Rounder rounder_;
};

/// Lanes of the longest vector.
constexpr std::size_t kMaxLanes = hn::MaxLanes(DInt());

/// Calls body(i, count) for whole vectors, then with fewer elements.
template <class Body>
HWY_INLINE void ForVectors(std::size_t n, const Body& body) {
  const std::size_t lanes = hn::Lanes(DInt());
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) body(i, lanes);
  if (i < n) body(i, n - i);
}

/// `count` codes from q on, and arbitrary ones behind them.
template <typename Code>
HWY_INLINE VInt LoadCodes(const Code* q, std::size_t count) {
  const DInt d;
  const hn::Rebind<Code, DInt> codes;
  if (count == hn::Lanes(d)) return hn::PromoteTo(d, hn::LoadU(codes, q));
  Code some[kMaxLanes] = {};
  std::copy_n(q, std::min(count, kMaxLanes), some);
  return hn::PromoteTo(d, hn::LoadU(codes, some));
}

template <typename Code>
HWY_INLINE void StoreCodes(VInt code, std::size_t count, Code* q) {
  const hn::Rebind<Code, DInt> codes;
  const auto narrow = hn::DemoteTo(codes, code);
  if (count == hn::Lanes(DInt())) return hn::StoreU(narrow, codes, q);
  Code some[kMaxLanes];
  hn::StoreU(narrow, codes, some);
  std::copy_n(some, std::min(count, kMaxLanes), q);
}

template <typename Code>
HWY_INLINE void Quantize(std::span<const float> x, const CodeRounder& how, Code* q) {
  const DFloat d;
  const Rounder rounder(how);
  ForVectors(x.size(), [&](std::size_t i, std::size_t count) HWY_ATTR {
    if (count == hn::Lanes(d)) return StoreCodes(rounder(hn::LoadU(d, &x[i])), count, q + i);
    float some[kMaxLanes] = {};
    std::copy_n(&x[i], std::min(count, kMaxLanes), some);
    StoreCodes(rounder(hn::LoadU(d, some)), count, q + i);
  });
}

template <typename Code>
HWY_INLINE void Dequantize(std::span<const Code> q, CodeScale scale, float* x) {
  const DFloat d;
  const Numbers numbers(scale);
  ForVectors(q.size(), [&](std::size_t i, std::size_t count) HWY_ATTR {
    const VFloat v = numbers(LoadCodes(&q[i], count));
    if (count == hn::Lanes(d)) return hn::StoreU(v, d, x + i);
    float some[kMaxLanes];
    hn::StoreU(v, d, some);
    std::copy_n(some, std::min(count, kMaxLanes), x + i);
  });
}

/// @tparam Function  of two vectors of codes
template <class Function, typename Code>
HWY_INLINE void CombineAll(std::span<const Code> a, std::span<const Code> b, const FloatPair& how,
                           std::span<Code> q) {
  const DInt d;
  const Function function(how);
  const bool one_a = a.size() != q.size();
  const bool one_b = b.size() != q.size();
  ForVectors(q.size(), [&](std::size_t i, std::size_t count) HWY_ATTR {
    const VInt left = one_a ? hn::Set(d, std::int32_t{a[0]}) : LoadCodes(&a[i], count);
    const VInt right = one_b ? hn::Set(d, std::int32_t{b[0]}) : LoadCodes(&b[i], count);
    StoreCodes(function(left, right), count, &q[i]);
  });
}

template <typename Code>
HWY_INLINE void Combine(std::span<const Code> a, std::span<const Code> b, const FloatPair& how,
                        std::span<Code> q) {
  switch (how.kind) {
    case PairKind::kSum:
      return CombineAll<InFloats<PairKind::kSum>>(a, b, how, q);
    case PairKind::kDifference:
      return CombineAll<InFloats<PairKind::kDifference>>(a, b, how, q);
    case PairKind::kProduct:
      return CombineAll<InFloats<PairKind::kProduct>>(a, b, how, q);
  }
}

void AsSigned(const std::uint8_t* q, std::size_t n, std::int8_t* y) {
  const hn::ScalableTag<std::uint8_t> d;
  auto* to = reinterpret_cast<std::uint8_t*>(y);
  const auto middle = hn::Set(d, std::uint8_t{128});
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Xor(hn::LoadU(d, q + i), middle), d, to + i);
  for (; i < n; ++i) to[i] = q[i] ^ std::uint8_t{128};
}

using Signed = std::span<const std::int8_t>;
using Unsigned = std::span<const std::uint8_t>;

void QuantizeSigned(std::span<const float> x, const CodeRounder& how, std::int8_t* q) {
  Quantize(x, how, q);
}
void QuantizeUnsigned(std::span<const float> x, const CodeRounder& how, std::uint8_t* q) {
  Quantize(x, how, q);
}
void DequantizeSigned(Signed q, CodeScale scale, float* x) { Dequantize(q, scale, x); }
void DequantizeUnsigned(Unsigned q, CodeScale scale, float* x) { Dequantize(q, scale, x); }
void CombineSigned(Signed a, Signed b, const FloatPair& how, std::span<std::int8_t> q) {
  Combine(a, b, how, q);
}
void CombineUnsigned(Unsigned a, Unsigned b, const FloatPair& how, std::span<std::uint8_t> q) {
  Combine(a, b, how, q);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(AsSigned);
HALFTONE_EXPORT(QuantizeSigned);
HALFTONE_EXPORT(QuantizeUnsigned);
HALFTONE_EXPORT(DequantizeSigned);
HALFTONE_EXPORT(DequantizeUnsigned);
HALFTONE_EXPORT(CombineSigned);
HALFTONE_EXPORT(CombineUnsigned);

namespace {

bool fits(std::size_t operand, std::size_t count) { return operand == count || operand == 1; }

}  // namespace

void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::int8_t> q) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(QuantizeSigned)(x, how, q.data());
}

void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::uint8_t> q) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(QuantizeUnsigned)(x, how, q.data());
}

void as_signed(std::span<const std::uint8_t> q, std::span<std::int8_t> y) noexcept {
  HALFTONE_ASSERT(q.size() == y.size());
  HALFTONE_DISPATCH(AsSigned)(q.data(), q.size(), y.data());
}

void dequantize_linear(std::span<const std::int8_t> q, CodeScale scale,
                       std::span<float> x) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(DequantizeSigned)(q, scale, x.data());
}

void dequantize_linear(std::span<const std::uint8_t> q, CodeScale scale,
                       std::span<float> x) noexcept {
  HALFTONE_ASSERT(q.size() == x.size());
  HALFTONE_DISPATCH(DequantizeUnsigned)(q, scale, x.data());
}

void combine_codes(std::span<const std::int8_t> a, std::span<const std::int8_t> b,
                   const FloatPair& how, std::span<std::int8_t> q) noexcept {
  HALFTONE_ASSERT(fits(a.size(), q.size()) && fits(b.size(), q.size()));
  HALFTONE_DISPATCH(CombineSigned)(a, b, how, q);
}

void combine_codes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   const FloatPair& how, std::span<std::uint8_t> q) noexcept {
  HALFTONE_ASSERT(fits(a.size(), q.size()) && fits(b.size(), q.size()));
  HALFTONE_DISPATCH(CombineUnsigned)(a, b, how, q);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
