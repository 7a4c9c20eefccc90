// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/activation/activation.cc"
#include "halftone/kernels/activation/activation.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/base/error.h"
#include "halftone/kernels/activation/math-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct ExpOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Exp(d, x);
  }
};

struct SigmoidOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V one = hn::Set(d, 1.0F);
    const V e = Exp(d, hn::Neg(hn::Abs(x)));
    const V numerator = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), e, one);
    return NanWhereNan(d, x, hn::Div(numerator, hn::Add(one, e)));
  }
};

struct TanhOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return Tanh(d, x);
  }
};

struct ClampOp {
  float low;
  float high;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V low_v = hn::Set(d, low);
    const V high_v = hn::Set(d, high);
    return hn::IfThenElse(hn::Lt(x, low_v), low_v, hn::IfThenElse(hn::Gt(x, high_v), high_v, x));
  }
};

struct LeakyReluOp {
  float slope;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(hn::Set(d, slope), x), x);
  }
};

struct HardSigmoidOp {
  float slope;
  float shift;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V y = hn::Add(hn::Mul(hn::Set(d, slope), x), hn::Set(d, shift));
    return NanWhereNan(d, y, ClampOp{0, 1}(d, y));
  }
};

struct HardSwishOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x_in) const {
    const V low = hn::Set(d, -3.0F);
    const V x = hn::IfThenElse(hn::Lt(x_in, low), low, x_in);
    const V factor = ClampOp{0, 6}(d, hn::Sub(x, low));
    return NanWhereNan(d, x, hn::Mul(x, hn::Mul(factor, hn::Set(d, 1.0F / 6))));
  }
};

struct SiluOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V a = CappedMagnitude(d, x, math_constants::kSiluHigh);
    return TimesSigmoid(d, x, a, a);
  }
};

struct EluOp {
  float alpha;
  float scale;
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V low = hn::Set(d, math_constants::kExpMinus1Low);
    const V bounded = hn::IfThenElse(hn::Lt(x, low), low, x);
    const Exponent<D> e = ExponentOf(d, bounded);
    const V power = PowerOfTwo(d, e.k);
    const V fraction = ReducedExpMinus1(d, Reduced(d, bounded, e.whole));
    const V minus_1 = hn::Add(hn::Mul(power, fraction), hn::Sub(power, hn::Set(d, 1.0F)));
    const V negative = hn::Mul(hn::Set(d, alpha), minus_1);
    const V y = hn::IfThenElse(hn::Lt(x, hn::Zero(d)), negative, x);
    return NanWhereNan(d, x, hn::Mul(hn::Set(d, scale), y));
  }
};

struct SoftplusOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V t = Exp(d, hn::Neg(hn::Abs(x)));
    const V curve = hn::Sub(t, hn::Mul(hn::Mul(t, t), Polynomial(d, t, math_constants::kLog1P)));
    const V line = hn::IfThenElse(hn::Gt(x, hn::Zero(d)), x, hn::Zero(d));
    return NanWhereNan(d, x, hn::Add(line, curve));
  }
};

struct AbsOp {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V x) const {
    return hn::Abs(x);
  }
};

struct NegateOp {
  template <class D, class V>
  HWY_INLINE V operator()(D /*d*/, V x) const {
    return hn::Neg(x);
  }
};

struct SquareOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    return NanWhereNan(d, x, hn::Mul(x, x));
  }
};

struct SqrtOp {
  template <class D, class V>
  HWY_INLINE V operator()(D d, V x) const {
    const V y = hn::Sqrt(x);
    return NanWhereNan(d, y, y);
  }
};

void MapExp(const float* x, float* y, std::size_t n) { Map(x, y, n, ExpOp{}); }
void MapSigmoid(const float* x, float* y, std::size_t n) { Map(x, y, n, SigmoidOp{}); }
void MapTanh(const float* x, float* y, std::size_t n) { Map(x, y, n, TanhOp{}); }
void MapClamp(const float* x, float low, float high, float* y, std::size_t n) {
  Map(x, y, n, ClampOp{low, high});
}
void MapLeakyRelu(const float* x, float slope, float* y, std::size_t n) {
  Map(x, y, n, LeakyReluOp{slope});
}
void MapHardSigmoid(const float* x, float slope, float shift, float* y, std::size_t n) {
  Map(x, y, n, HardSigmoidOp{slope, shift});
}
void MapHardSwish(const float* x, float* y, std::size_t n) { Map(x, y, n, HardSwishOp{}); }
void MapSilu(const float* x, float* y, std::size_t n) { Map(x, y, n, SiluOp{}); }
void MapElu(const float* x, float alpha, float scale, float* y, std::size_t n) {
  Map(x, y, n, EluOp{alpha, scale});
}
void MapSoftplus(const float* x, float* y, std::size_t n) { Map(x, y, n, SoftplusOp{}); }
void MapAbs(const float* x, float* y, std::size_t n) { Map(x, y, n, AbsOp{}); }
void MapNegate(const float* x, float* y, std::size_t n) { Map(x, y, n, NegateOp{}); }
void MapSquare(const float* x, float* y, std::size_t n) { Map(x, y, n, SquareOp{}); }
void MapSqrt(const float* x, float* y, std::size_t n) { Map(x, y, n, SqrtOp{}); }

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(MapExp);
HALFTONE_EXPORT(MapSigmoid);
HALFTONE_EXPORT(MapTanh);
HALFTONE_EXPORT(MapClamp);
HALFTONE_EXPORT(MapLeakyRelu);
HALFTONE_EXPORT(MapHardSigmoid);
HALFTONE_EXPORT(MapHardSwish);
HALFTONE_EXPORT(MapSilu);
HALFTONE_EXPORT(MapElu);
HALFTONE_EXPORT(MapSoftplus);
HALFTONE_EXPORT(MapAbs);
HALFTONE_EXPORT(MapNegate);
HALFTONE_EXPORT(MapSquare);
HALFTONE_EXPORT(MapSqrt);

void exp(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapExp)(x.data(), y.data(), x.size());
}

void sigmoid(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapSigmoid)(x.data(), y.data(), x.size());
}

void tanh(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapTanh)(x.data(), y.data(), x.size());
}

void clamp(std::span<const float> x, float low, float high, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size() && low <= high);
  HALFTONE_DISPATCH(MapClamp)(x.data(), low, high, y.data(), x.size());
}

void relu(std::span<const float> x, std::span<float> y) noexcept {
  clamp(x, 0, std::numeric_limits<float>::infinity(), y);
}

void leaky_relu(std::span<const float> x, float slope, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapLeakyRelu)(x.data(), slope, y.data(), x.size());
}

void hard_sigmoid(std::span<const float> x, float slope, float shift, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapHardSigmoid)(x.data(), slope, shift, y.data(), x.size());
}

void hard_swish(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapHardSwish)(x.data(), y.data(), x.size());
}

void silu(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapSilu)(x.data(), y.data(), x.size());
}

void elu(std::span<const float> x, float alpha, float scale, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapElu)(x.data(), alpha, scale, y.data(), x.size());
}

void softplus(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapSoftplus)(x.data(), y.data(), x.size());
}

void abs(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapAbs)(x.data(), y.data(), x.size());
}

void negate(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapNegate)(x.data(), y.data(), x.size());
}

void square(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapSquare)(x.data(), y.data(), x.size());
}

void sqrt(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HALFTONE_DISPATCH(MapSqrt)(x.data(), y.data(), x.size());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
