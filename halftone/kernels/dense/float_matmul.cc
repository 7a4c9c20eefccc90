// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/dense/float_matmul.cc"
#include "halftone/kernels/dense/float_matmul.h"

#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include <algorithm>

#include "halftone/kernels/dense/float_tiles-inl.h"
#include "halftone/kernels/dispatch.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {

void FloatMatmul(MatrixView<const float> x, const FloatPanels& weights, BlockRange panels,
                 MatrixView<float> y) {
  // Inputs of a block; further blocks continue from the sums in y.
  constexpr std::size_t kMaxInputs = 256;
  const float* rows[kBlockRows];
  for (std::size_t r = 0; r < y.rows(); r += kBlockRows) {
    const std::size_t count = std::min(kBlockRows, y.rows() - r);
    for (std::size_t i = 0; i < count; ++i) rows[i] = x.data_handle() + (r + i) * x.stride();
    for (std::size_t k = 0; k < weights.inputs; k += kMaxInputs) {
      const std::size_t length = std::min(kMaxInputs, weights.inputs - k);
      const FloatRun run{static_cast<std::uint32_t>(k), static_cast<std::uint32_t>(length)};
      const FloatProduct product{{rows, count}, {&run, 1}, weights, k, y.rows_from(r, count)};
      AddProduct(product, 0, panels);
    }
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(FloatMatmul);

FloatMatmulWeights::FloatMatmulWeights(MatrixView<const float> weights)
    : outputs_(weights.rows()),
      inputs_(weights.cols()),
      panels_(FloatPanels::floats_for(outputs_, inputs_) * sizeof(float)) {
  pack_float_panels(weights, panels_.as<float>());
}

void float_matmul(MatrixView<const float> x, const FloatPanels& weights, BlockRange panels,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.rows() == y.rows() && x.cols() == weights.inputs &&
                  y.cols() == weights.outputs && panels.end <= weights.count());
  HALFTONE_DISPATCH(FloatMatmul)(x, weights, panels, y);
}

void float_matmul(MatrixView<const float> x, const FloatMatmulWeights& weights,
                  MatrixView<float> y) noexcept {
  const FloatPanels panels = weights.panels();
  float_matmul(x, panels, {0, panels.count()}, y);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
