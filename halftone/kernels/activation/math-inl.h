// SPDX-License-Identifier: Apache-2.0
// Shared by the functions of this folder and by attention, once per target. Multiplications and
// additions stay separate, so that every target rounds alike; math_reference.h has the scalar
// versions.
#if defined(HALFTONE_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_MATH_INL_H_
#undef HALFTONE_KERNELS_MATH_INL_H_
#else
#define HALFTONE_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstring>
#include <limits>

#include "halftone/kernels/activation/math_constants.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// coefficients[0] x^(N-1) + ... + coefficients[N-1] by Horner's rule.
template <class D, class V, std::size_t N>
HWY_INLINE V Polynomial(D d, V x, const float (&coefficients)[N]) {
  V sum = hn::Set(d, coefficients[0]);
  for (std::size_t i = 1; i < N; ++i) {
    sum = hn::Add(hn::Mul(sum, x), hn::Set(d, coefficients[i]));
  }
  return sum;
}

/// 2^k for a vector of integers, -126 <= k <= 127.
template <class D, class VI>
HWY_INLINE hn::Vec<D> PowerOfTwo(D d, VI k) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(k, hn::Set(di, 127))));
}

/// y where x is a number, the positive quiet NaN where x is NaN: targets differ in the NaN they
/// produce.
template <class D, class V>
HWY_INLINE V NanWhereNan(D d, V x, V y) {
  return hn::IfThenElse(hn::Eq(x, x), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

/// round(x log2(e)), as a number and as an integer.
template <class D>
struct Exponent {
  hn::Vec<D> whole;
  hn::Vec<hn::RebindToSigned<D>> k;
};

template <class D, class V>
HWY_INLINE Exponent<D> ExponentOf(D d, V x) {
  namespace c = math_constants;
  const hn::RebindToSigned<D> di;
  const V magic = hn::Set(d, c::kRoundMagic);
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, c::kLog2E)), magic);
  return {hn::Sub(shifted, magic), hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic))};
}

/// x - whole ln 2.
template <class D, class V>
HWY_INLINE V Reduced(D d, V x, V whole) {
  namespace c = math_constants;
  return hn::Sub(hn::Sub(x, hn::Mul(whole, hn::Set(d, c::kLn2High))),
                 hn::Mul(whole, hn::Set(d, c::kLn2Low)));
}

/// e^r - 1, |r| <= ln(2) / 2.
template <class D, class V>
HWY_INLINE V ReducedExpMinus1(D d, V r) {
  return hn::Add(hn::Mul(Polynomial(d, r, math_constants::kExp), hn::Mul(r, r)), r);
}

/// e^r.
template <class D, class V>
HWY_INLINE V ReducedExp(D d, V r) {
  return hn::Add(ReducedExpMinus1(d, r), hn::Set(d, 1.0F));
}

/// y 2^k, -252 <= k <= 254; only the last step rounds, where the product is denormal.
template <class D, class V, class VI>
HWY_INLINE V TimesPowerOfTwo(D d, V y, VI k) {
  const auto half = hn::ShiftRight<1>(k);
  return hn::Mul(hn::Mul(y, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(k, half)));
}

/// e^x.
template <class D, class V>
HWY_INLINE V Exp(D d, V x_in) {
  namespace c = math_constants;
  V x = hn::IfThenElse(hn::Lt(x_in, hn::Set(d, c::kExpLow)), hn::Set(d, c::kExpLow), x_in);
  x = hn::IfThenElse(hn::Gt(x, hn::Set(d, c::kExpHigh)), hn::Set(d, c::kExpHigh), x);
  const Exponent<D> e = ExponentOf(d, x);
  return NanWhereNan(d, x_in, TimesPowerOfTwo(d, ReducedExp(d, Reduced(d, x, e.whole)), e.k));
}

/// min(|x|, high), NaN where x is.
template <class D, class V>
HWY_INLINE V CappedMagnitude(D d, V x, float high) {
  const V magnitude = hn::Abs(x);
  return hn::IfThenElse(hn::Gt(magnitude, hn::Set(d, high)), hn::Set(d, high), magnitude);
}

/// tanh x.
template <class D, class V>
HWY_INLINE V Tanh(D d, V x) {
  namespace c = math_constants;
  const V a = CappedMagnitude(d, x, c::kTanhHigh);
  const V z = hn::Mul(a, a);
  const V small = hn::Add(a, hn::Mul(hn::Mul(a, z), Polynomial(d, z, c::kTanh)));
  const V one = hn::Set(d, 1.0F);
  const V e = Exp(d, hn::Add(a, a));
  const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(e, one)));
  const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, c::kTanhSplit)), small, large);
  return NanWhereNan(d, x, hn::CopySign(y, x));
}

/// x / (1 + e^-v) where x >= 0, -a e^-v / (1 + e^-v) where x < 0: a number times the sigmoid of
/// another of its sign, whose magnitude is v <= 170.
template <class D, class V>
HWY_INLINE V TimesSigmoid(D d, V x, V a, V v) {
  const V one = hn::Set(d, 1.0F);
  const V minus_v = hn::Neg(v);
  const Exponent<D> e = ExponentOf(d, minus_v);
  const V m = ReducedExp(d, Reduced(d, minus_v, e.whole));
  const V tail = TimesPowerOfTwo(d, hn::Mul(hn::Neg(a), m), e.k);
  const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), tail, x);
  const V y = hn::Div(numerator, hn::Add(one, TimesPowerOfTwo(d, m, e.k)));
  return NanWhereNan(d, x, y);
}

/// y[i] = op(x[i]); a partial last vector goes through a padded copy.
template <class Op>
HWY_INLINE void Map(const float* x, float* y, std::size_t n, const Op& op) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(op(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  alignas(64) float tail[hn::MaxLanes(d)] = {};
  std::memcpy(tail, x + i, (n - i) * sizeof(float));
  hn::Store(op(d, hn::Load(d, tail)), d, tail);
  std::memcpy(y + i, tail, (n - i) * sizeof(float));
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_MATH_INL_H_
