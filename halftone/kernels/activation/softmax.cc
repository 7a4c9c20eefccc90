// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/activation/softmax.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <cstring>

#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/math-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Partial sums of the reference; the vector length divides this number.
constexpr std::size_t kPartialSums = 16;
using DPart = hn::CappedTag<float, kPartialSums>;

/// The largest element. NaN is skipped here, but propagates through the exponential.
HWY_INLINE float LargestOf(const float* x, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  float largest = -std::numeric_limits<float>::infinity();
  std::size_t i = 0;
  auto best = hn::Set(d, largest);
  for (; i + lanes <= n; i += lanes) {
    const auto value = hn::LoadU(d, x + i);
    best = hn::IfThenElse(hn::Gt(value, best), value, best);
  }
  alignas(64) float lane[hn::MaxLanes(d)];
  hn::Store(best, d, lane);
  for (const float value : lane) largest = value > largest ? value : largest;
  for (; i < n; ++i) largest = x[i] > largest ? x[i] : largest;
  return largest;
}

/// Up to 16 terms: e = exp(x - largest), added to the partial sums.
HWY_INLINE void Terms(const float* x, float largest, float* e, float* HWY_RESTRICT partial) {
  const DPart d;
  for (std::size_t l = 0; l < kPartialSums; l += hn::Lanes(d)) {
    const auto term = Exp(d, hn::Sub(hn::LoadU(d, x + l), hn::Set(d, largest)));
    hn::StoreU(term, d, e + l);
    hn::Store(hn::Add(hn::Load(d, partial + l), term), d, partial + l);
  }
}

HWY_INLINE void DivideBy(float divisor, float* y, std::size_t n) {
  const hn::ScalableTag<float> d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    hn::StoreU(hn::Div(hn::LoadU(d, y + i), hn::Set(d, divisor)), d, y + i);
  }
  for (; i < n; ++i) y[i] /= divisor;
}

void SoftmaxRow(const float* x, float* y, std::size_t n) {
  const float largest = LargestOf(x, n);
  alignas(64) float partial[kPartialSums] = {};
  std::size_t i = 0;
  for (; i + kPartialSums <= n; i += kPartialSums) Terms(x + i, largest, y + i, partial);
  if (i != n) {
    // Padding with -infinity adds terms that are zero, or NaN if the result is NaN anyway.
    float tail[kPartialSums];
    for (float& value : tail) value = -std::numeric_limits<float>::infinity();
    std::memcpy(tail, x + i, (n - i) * sizeof(float));
    Terms(tail, largest, tail, partial);
    std::memcpy(y + i, tail, (n - i) * sizeof(float));
  }
  for (std::size_t h = kPartialSums / 2; h != 0; h /= 2) {
    for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
  }
  DivideBy(partial[0], y, n);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(SoftmaxRow);

void softmax(MatrixView<const float> x, MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.rows() && x.cols() == y.cols());
  for (std::size_t r = 0; r < x.rows(); ++r) {
    HALFTONE_DISPATCH(SoftmaxRow)(x.row(r).data(), y.row(r).data(), x.cols());
  }
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
