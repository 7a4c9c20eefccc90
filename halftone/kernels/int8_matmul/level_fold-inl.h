// SPDX-License-Identifier: Apache-2.0
// Adds the sums of a group to the outputs, for every layout of plane_matmul() and level_matmul().
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_LEVEL_FOLD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_FOLD_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_LEVEL_FOLD_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_LEVEL_FOLD_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/int8_matmul/int8_weights.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The sums of a group and block.
struct GroupSums {
  const std::int32_t* products;  ///< [32]: of (u - offset) q
  std::int32_t inputs;           ///< of q
  std::int32_t offset;
};

/// acc += half_step P + center Q of a group and block.
/// @param floats  [1 or 2, 32] of the group and block
HWY_INLINE void FoldGroup(const Int8Weights& weights, const float* HWY_RESTRICT floats,
                          const GroupSums& sums, float* HWY_RESTRICT acc) {
  constexpr std::size_t kBlock = Int8Weights::kBlock;
  const hn::CappedTag<float, kBlock> d;
  const hn::RebindToSigned<decltype(d)> di;
  const hn::RebindToUnsigned<decltype(d)> du;
  const std::int32_t steps = weights.steps() - 2 * sums.offset;
  const auto less = hn::Set(du, static_cast<std::uint32_t>(steps * sums.inputs));
  const auto input_sum = hn::Set(d, static_cast<float>(sums.inputs));
  for (std::size_t lane = 0; lane < kBlock; lane += hn::Lanes(d)) {
    const auto sum = hn::BitCast(du, hn::LoadU(di, sums.products + lane));
    const auto p = hn::ConvertTo(d, hn::BitCast(di, hn::Sub(hn::Add(sum, sum), less)));
    auto total = hn::Add(hn::LoadU(d, acc + lane), hn::Mul(hn::LoadU(d, floats + lane), p));
    if (weights.has_offset()) {
      const auto center = hn::LoadU(d, floats + kBlock + lane);
      total = hn::Add(total, hn::Mul(center, input_sum));
    }
    hn::StoreU(total, d, acc + lane);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
