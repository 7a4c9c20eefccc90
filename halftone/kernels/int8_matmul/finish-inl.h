// SPDX-License-Identifier: Apache-2.0
// The last step of plane_matmul() and level_matmul().
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_FINISH_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_FINISH_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_FINISH_INL_H_
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstring>

#include "halftone/kernels/int8_matmul/int8_weights.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// acc scale + offset totals + bias into a row of y, which may end within the block.
/// @param acc  [32], overwritten
HWY_INLINE void FinishBlock(const Int8Weights& weights, std::size_t block, float scale,
                            float offset, float* HWY_RESTRICT acc, float* HWY_RESTRICT y) {
  constexpr std::size_t kOutputs = Int8Weights::kBlock;
  const hn::CappedTag<float, kOutputs> d;
  const float* bias = weights.bias(block);
  for (std::size_t lane = 0; lane < kOutputs; lane += hn::Lanes(d)) {
    auto out = hn::Mul(hn::LoadU(d, acc + lane), hn::Set(d, scale));
    if (offset != 0) {
      out = hn::Add(out, hn::Mul(hn::Set(d, offset), hn::LoadU(d, weights.totals(block) + lane)));
    }
    if (bias != nullptr) out = hn::Add(out, hn::LoadU(d, bias + lane));
    hn::StoreU(out, d, acc + lane);
  }
  const std::size_t first = block * kOutputs;
  std::memcpy(y + first, acc, std::min(kOutputs, weights.outputs() - first) * sizeof(float));
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
