// SPDX-License-Identifier: Apache-2.0
// The exponential inside activation.cc and softmax.cc, once per target. Multiplications and
// additions stay separate, so that every target rounds alike; exp_reference() is its scalar twin.
#if defined(HALFTONE_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_MATH_INL_H_
#undef HALFTONE_KERNELS_MATH_INL_H_
#else
#define HALFTONE_KERNELS_MATH_INL_H_
#endif

#include <hwy/highway.h>

#include <limits>

#include "halftone/kernels/math_constants.h"

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

/// y where x is a number, the quiet NaN of sign 0 where it is none: targets differ in the NaN
/// they produce.
template <class D, class V>
HWY_INLINE V NanWhereNan(D d, V x, V y) {
  return hn::IfThenElse(hn::Eq(x, x), y, hn::Set(d, std::numeric_limits<float>::quiet_NaN()));
}

/// e^x.
template <class D, class V>
HWY_INLINE V Exp(D d, V x_in) {
  namespace c = math_constants;
  const hn::RebindToSigned<D> di;
  V x = hn::IfThenElse(hn::Lt(x_in, hn::Set(d, c::kExpLow)), hn::Set(d, c::kExpLow), x_in);
  x = hn::IfThenElse(hn::Gt(x, hn::Set(d, c::kExpHigh)), hn::Set(d, c::kExpHigh), x);
  const V magic = hn::Set(d, c::kRoundMagic);
  const V shifted = hn::Add(hn::Mul(x, hn::Set(d, c::kLog2E)), magic);
  const V whole = hn::Sub(shifted, magic);
  const auto k = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, magic));
  const V r = hn::Sub(hn::Sub(x, hn::Mul(whole, hn::Set(d, c::kLn2High))),
                      hn::Mul(whole, hn::Set(d, c::kLn2Low)));
  const V p = Polynomial(d, r, c::kExp);
  const V e = hn::Add(hn::Add(hn::Mul(p, hn::Mul(r, r)), r), hn::Set(d, 1.0F));
  const auto half = hn::ShiftRight<1>(k);
  const V y = hn::Mul(hn::Mul(e, PowerOfTwo(d, half)), PowerOfTwo(d, hn::Sub(k, half)));
  return NanWhereNan(d, x_in, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // HALFTONE_KERNELS_MATH_INL_H_
