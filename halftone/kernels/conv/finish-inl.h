// SPDX-License-Identifier: Apache-2.0
// The last step of convolutions: converts sums of some outputs of a pixel to stored values.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_CONV_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_CONV_FINISH_INL_H_
#undef HALFTONE_KERNELS_CONV_FINISH_INL_H_
#else
#define HALFTONE_KERNELS_CONV_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/conv/conv_shape.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Writes the sums of some outputs of consecutive pixels; see ConvFinish.
class Finisher {
 public:
  /// @param output  the first one
  HWY_INLINE Finisher(const ConvFinish& finish, const MatrixView<float>& y, std::size_t pixel,
                      std::size_t output)
      : y_(y.data_handle() + pixel * y.stride() + output),
        y_stride_(y.stride()),
        low_(finish.low),
        high_(finish.high),
        clamps_(finish.clamps()) {
    if (finish.residual.rows() == 0) return;
    residual_stride_ = finish.residual.stride();
    residual_ = finish.residual.data_handle() + pixel * residual_stride_ + output;
  }

  /// Outputs of the pixel from `first` on.
  template <class D>
  HWY_INLINE void Store(D d, hn::Vec<D> sums, std::size_t first) const {
    if (residual_ != nullptr) sums = hn::Add(sums, hn::LoadU(d, residual_ + first));
    hn::StoreU(Clamp(d, sums), d, y_ + first);
  }

  /// The same for fewer than a vector.
  template <class D>
  HWY_INLINE void StoreSome(D d, hn::Vec<D> sums, std::size_t count, std::size_t first) const {
    alignas(64) float some[hn::MaxLanes(d)] = {};
    if (residual_ != nullptr) {
      std::memcpy(some, residual_ + first, count * sizeof(float));
      sums = hn::Add(sums, hn::Load(d, some));
    }
    hn::Store(Clamp(d, sums), d, some);
    std::memcpy(y_ + first, some, count * sizeof(float));
  }

  HWY_INLINE void NextPixel() {
    y_ += y_stride_;
    if (residual_ != nullptr) residual_ += residual_stride_;
  }

 private:
  /// Keeps NaN, which the Min and Max of some targets lose.
  template <class D>
  HWY_INLINE hn::Vec<D> Clamp(D d, hn::Vec<D> v) const {
    if (!clamps_) return v;
    const auto low = hn::Set(d, low_);
    const auto high = hn::Set(d, high_);
    v = hn::IfThenElse(hn::Le(v, low), low, v);
    return hn::IfThenElse(hn::Ge(v, high), high, v);
  }

  float* y_;
  std::size_t y_stride_;
  const float* residual_ = nullptr;
  std::size_t residual_stride_ = 0;
  float low_;
  float high_;
  bool clamps_;
};

/// The same for integers, which have no final step.
class IntegerWriter {
 public:
  HWY_INLINE IntegerWriter(const MatrixView<std::int32_t>& y, std::size_t pixel, std::size_t output)
      : y_(y.data_handle() + pixel * y.stride() + output), y_stride_(y.stride()) {}
  template <class D>
  HWY_INLINE void Store(D d, hn::Vec<D> sums, std::size_t first) const {
    hn::StoreU(sums, d, y_ + first);
  }
  template <class D>
  HWY_INLINE void StoreSome(D d, hn::Vec<D> sums, std::size_t count, std::size_t first) const {
    alignas(64) std::int32_t some[hn::MaxLanes(d)];
    hn::Store(sums, d, some);
    std::copy_n(some, count, y_ + first);
  }
  HWY_INLINE void NextPixel() { y_ += y_stride_; }

 private:
  std::int32_t* y_;
  std::size_t y_stride_;
};

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
