// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/conv/finish.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/conv/conv_shape.h"
#include "halftone/kernels/conv/finish-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

void FinishPixel(const float* HWY_RESTRICT base, const ConvFinish& finish, std::size_t pixel,
                 const MatrixView<float>& y) {
  const hn::CappedTag<float, 16> d;
  constexpr std::size_t kLanes = hn::MaxLanes(d);
  const Finisher to(finish, y, pixel, 0);
  const float* sums = y.data_handle() + pixel * y.stride();
  const std::size_t outputs = y.cols();
  std::size_t o = 0;
  for (; o + kLanes <= outputs; o += kLanes) {
    to.Store(d, hn::Add(hn::LoadU(d, sums + o), hn::LoadU(d, base + o)), o);
  }
  if (o == outputs) return;
  alignas(64) float rest[2][kLanes] = {};
  std::memcpy(rest[0], sums + o, (outputs - o) * sizeof(float));
  std::memcpy(rest[1], base + o, (outputs - o) * sizeof(float));
  to.StoreSome(d, hn::Add(hn::Load(d, rest[0]), hn::Load(d, rest[1])), outputs - o, o);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(FinishPixel);

void finish_pixel(const float* base, const ConvFinish& finish, std::size_t pixel,
                  MatrixView<float> y) noexcept {
  HALFTONE_DISPATCH(FinishPixel)(base, finish, pixel, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
