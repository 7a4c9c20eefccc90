// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/activation.cc"
#include "halftone/kernels/activation.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "halftone/base/error.h"
#include "halftone/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// y[i] = op(x[i]); what does not fill a vector goes through a padded copy.
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
    namespace c = math_constants;
    const V high = hn::Set(d, c::kTanhHigh);
    const V magnitude = hn::Abs(x);
    const V a = hn::IfThenElse(hn::Gt(magnitude, high), high, magnitude);
    const V z = hn::Mul(a, a);
    const V small = hn::Add(a, hn::Mul(hn::Mul(a, z), Polynomial(d, z, c::kTanh)));
    const V one = hn::Set(d, 1.0F);
    const V e = Exp(d, hn::Add(a, a));
    const V large = hn::Sub(one, hn::Div(hn::Set(d, 2.0F), hn::Add(e, one)));
    const V y = hn::IfThenElse(hn::Lt(a, hn::Set(d, c::kTanhSplit)), small, large);
    return NanWhereNan(d, x, hn::CopySign(y, x));
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

void MapExp(const float* x, float* y, std::size_t n) { Map(x, y, n, ExpOp{}); }
void MapSigmoid(const float* x, float* y, std::size_t n) { Map(x, y, n, SigmoidOp{}); }
void MapTanh(const float* x, float* y, std::size_t n) { Map(x, y, n, TanhOp{}); }
void MapClamp(const float* x, float low, float high, float* y, std::size_t n) {
  Map(x, y, n, ClampOp{low, high});
}
void MapLeakyRelu(const float* x, float slope, float* y, std::size_t n) {
  Map(x, y, n, LeakyReluOp{slope});
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(MapExp);
HWY_EXPORT(MapSigmoid);
HWY_EXPORT(MapTanh);
HWY_EXPORT(MapClamp);
HWY_EXPORT(MapLeakyRelu);

void exp(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HWY_DYNAMIC_DISPATCH(MapExp)(x.data(), y.data(), x.size());
}

void sigmoid(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HWY_DYNAMIC_DISPATCH(MapSigmoid)(x.data(), y.data(), x.size());
}

void tanh(std::span<const float> x, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HWY_DYNAMIC_DISPATCH(MapTanh)(x.data(), y.data(), x.size());
}

void clamp(std::span<const float> x, float low, float high, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size() && low <= high);
  HWY_DYNAMIC_DISPATCH(MapClamp)(x.data(), low, high, y.data(), x.size());
}

void relu(std::span<const float> x, std::span<float> y) noexcept {
  clamp(x, 0, std::numeric_limits<float>::infinity(), y);
}

void leaky_relu(std::span<const float> x, float slope, std::span<float> y) noexcept {
  HALFTONE_ASSERT(x.size() == y.size());
  HWY_DYNAMIC_DISPATCH(MapLeakyRelu)(x.data(), slope, y.data(), x.size());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
