// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/float_matmul.cc"
#include "halftone/kernels/dense/float_matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<float, FloatMatmulWeights::kUnit>;
using V = hn::Vec<D>;

/// kVectors of outputs of kRows rows: the sums stay in registers.
/// @param sums  [kRows, stride] starts and results
template <std::size_t kRows, std::size_t kVectors>
HWY_INLINE void Sums(const float* const (&x)[kRows], std::size_t n, const float* HWY_RESTRICT w,
                     std::size_t width, float* HWY_RESTRICT sums, std::size_t stride) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  V acc[kRows][kVectors];
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      acc[r][v] = hn::LoadU(d, sums + r * stride + v * lanes);
    }
  }
  for (std::size_t k = 0; k < n; ++k, w += width) {
    V weights[kVectors];
    for (std::size_t v = 0; v < kVectors; ++v) weights[v] = hn::LoadU(d, w + v * lanes);
    for (std::size_t r = 0; r < kRows; ++r) {
      const V factor = hn::Set(d, x[r][k]);
      for (std::size_t v = 0; v < kVectors; ++v) {
        acc[r][v] = hn::Add(acc[r][v], hn::Mul(factor, weights[v]));
      }
    }
  }
  for (std::size_t r = 0; r < kRows; ++r) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(acc[r][v], d, sums + r * stride + v * lanes);
    }
  }
}

/// All outputs of a panel for kRows rows, `width` of them at sums.
template <std::size_t kRows>
HWY_INLINE void Panel(const float* const (&x)[kRows], std::size_t n, const float* w,
                      std::size_t width, float* sums, std::size_t stride) {
  constexpr std::size_t kVectors = 4;
  const std::size_t lanes = hn::Lanes(D());
  std::size_t o = 0;
  for (; o + kVectors * lanes <= width; o += kVectors * lanes) {
    Sums<kRows, kVectors>(x, n, w + o, width, sums + o, stride);
  }
  for (; o < width; o += lanes) Sums<kRows, 1>(x, n, w + o, width, sums + o, stride);
}

template <std::size_t kRows>
HWY_INLINE void Rows(MatrixView<const float> x, std::size_t first,
                     const FloatMatmulWeights& weights, MatrixView<float> y) {
  constexpr std::size_t kPanel = FloatMatmulWeights::kPanel;
  const float* rows[kRows];
  for (std::size_t r = 0; r < kRows; ++r) rows[r] = x.data_handle() + (first + r) * x.stride();
  const std::size_t outputs = weights.outputs();
  const std::size_t n = weights.inputs();
  for (std::size_t o = 0; o < outputs; o += kPanel) {
    const std::size_t width = weights.panel_width(o);
    float* out = y.data_handle() + first * y.stride() + o;
    if (o + width <= outputs) {
      Panel<kRows>(rows, n, weights.panel(o), width, out, y.stride());
      continue;
    }
    // Some outputs are missing: a row of y ends within the panel.
    alignas(64) float whole[kRows * kPanel] = {};
    for (std::size_t r = 0; r < kRows; ++r) {
      std::memcpy(whole + r * kPanel, out + r * y.stride(), (outputs - o) * sizeof(float));
    }
    Panel<kRows>(rows, n, weights.panel(o), width, whole, kPanel);
    for (std::size_t r = 0; r < kRows; ++r) {
      std::memcpy(out + r * y.stride(), whole + r * kPanel, (outputs - o) * sizeof(float));
    }
  }
}

void FloatMatmul(MatrixView<const float> x, const FloatMatmulWeights& weights,
                 MatrixView<float> y) {
  std::size_t r = 0;
  for (; r + 2 <= y.rows(); r += 2) Rows<2>(x, r, weights, y);
  if (r < y.rows()) Rows<1>(x, r, weights, y);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HWY_EXPORT(FloatMatmul);

FloatMatmulWeights::FloatMatmulWeights(MatrixView<const float> weights)
    : outputs_(weights.rows()), inputs_(weights.cols()) {
  const std::size_t padded = (outputs_ + kUnit - 1) / kUnit * kUnit;
  panels_ = AlignedBuffer(padded * inputs_ * sizeof(float));
  const auto packed = panels_.as<float>();
  for (std::size_t o = 0; o < outputs_; ++o) {
    const std::size_t first = o / kPanel * kPanel;
    const std::size_t width = panel_width(first);
    for (std::size_t k = 0; k < inputs_; ++k) {
      packed[first * inputs_ + k * width + o - first] = weights(o, k);
    }
  }
}

std::size_t FloatMatmulWeights::panel_width(std::size_t output) const {
  return std::min(kPanel, (outputs_ - output + kUnit - 1) / kUnit * kUnit);
}

void float_matmul(MatrixView<const float> x, const FloatMatmulWeights& weights,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.rows() && x.cols() == weights.inputs() &&
                  y.cols() == weights.outputs());
  HWY_DYNAMIC_DISPATCH(FloatMatmul)(x, weights, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
