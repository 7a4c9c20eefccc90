// SPDX-License-Identifier: Apache-2.0
// The error function and functions based on it.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/activation/gelu.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/base/error.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/math-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
namespace c = math_constants;

struct ErfOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = CappedMagnitude(d, x, c::kErfHigh);
    const V small = hn::Add(a, hn::Mul(a, Polynomial(d, hn::Mul(a, a), c::kErf)));
    const V large = hn::Sub(hn::Set(d, 1.0F), Exp(d, Polynomial(d, a, c::kLogErfc)));
    const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, c::kErfSplit)), small, large);
    return NanWhereNan(d, x, hn::CopySign(y, x));
  }
};

/// With a = |x|: -a Phi(-a) where x < 0, x (1 - Phi(-a)) elsewhere.
struct GeluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const hn::RebindToUnsigned<D> du;
    const V one = hn::Set(d, 1.0F);
    const V minus_half = hn::Set(d, -0.5F);
    const V a = CappedMagnitude(d, x, c::kGeluHigh);
    // -a^2 / 2 = square + rest. The upper half of a's digits has an exact square; rounding a^2
    // would cost e^(-a^2 / 2) up to a hundred units in the last place.
    const V high = hn::BitCast(d, hn::And(hn::BitCast(du, a), hn::Set(du, c::kHighDigits)));
    const V square = hn::Mul(minus_half, hn::Mul(high, high));
    const V rest = hn::Mul(minus_half, hn::Mul(hn::Sub(a, high), hn::Add(a, high)));
    const Exponent<D> e = ExponentOf(d, hn::Add(square, rest));
    const V r = hn::Add(Reduced(d, square, e.whole), rest);
    const V ratio = hn::Div(Polynomial(d, a, c::kTailP), Polynomial(d, a, c::kTailQ));
    const V tail = hn::Mul(ratio, ReducedExp(d, r));
    const auto negative = hn::Lt(x, hn::Zero(d));
    const V scaled =
        TimesPowerOfTwo(d, hn::IfThenElse(negative, hn::Mul(hn::Neg(a), tail), tail), e.k);
    const V y = hn::IfThenElse(negative, scaled, hn::Mul(x, hn::Sub(one, scaled)));
    return NanWhereNan(d, x, y);
  }
};

/// (1 + tanh u) / 2 = 1 / (1 + e^(-2u)).
struct GeluTanhOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = CappedMagnitude(d, x, c::kGeluTanhHigh);
    const V slope = hn::Add(hn::Set(d, c::kGeluTanhLinear),
                            hn::Mul(hn::Set(d, c::kGeluTanhCubic), hn::Mul(a, a)));
    return TimesSigmoid(d, x, a, hn::Mul(a, slope));
  }
};

void MapErf(const float* x, float* y, std::size_t n) { Map(x, y, n, ErfOp{}); }
void MapGelu(const float* x, float* y, std::size_t n) { Map(x, y, n, GeluOp{}); }
void MapGeluTanh(const float* x, float* y, std::size_t n) { Map(x, y, n, GeluTanhOp{}); }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(MapErf);
HALFTONE_EXPORT(MapGelu);
HALFTONE_EXPORT(MapGeluTanh);

void erf(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapErf)(x.data(), y.data(), x.size());
}

void gelu(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapGelu)(x.data(), y.data(), x.size());
}

void gelu_tanh(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapGeluTanh)(x.data(), y.data(), x.size());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
