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

/// acc += half_step P + center Q of a vector of outputs of a group and block.
struct FoldVector {
  const float* HWY_RESTRICT floats;  ///< [1 or 2, 32]: half_step, center
  bool has_offset;
  std::int32_t inputs;      ///< Q
  float* HWY_RESTRICT acc;  ///< [32]

  /// @param lane  the first output
  template <class DI, class V>
  HWY_INLINE void operator()(DI /*di*/, std::size_t lane, V p) const {
    const hn::RebindToFloat<DI> d;
    const auto term = hn::Mul(hn::LoadU(d, floats + lane), hn::ConvertTo(d, p));
    auto total = hn::Add(hn::LoadU(d, acc + lane), term);
    if (has_offset) {
      const auto center = hn::LoadU(d, floats + Int8Weights::kBlock + lane);
      total = hn::Add(total, hn::Mul(center, hn::Set(d, static_cast<float>(inputs))));
    }
    hn::StoreU(total, d, acc + lane);
  }
};

/// The same for all outputs.
HWY_INLINE void FoldGroup(const Int8Weights& weights, const float* HWY_RESTRICT floats,
                          const GroupSums& sums, float* HWY_RESTRICT acc) {
  const hn::CappedTag<std::int32_t, Int8Weights::kBlock> di;
  const hn::RebindToUnsigned<decltype(di)> du;
  const FoldVector fold{floats, weights.has_offset(), sums.inputs, acc};
  const std::int32_t steps = weights.steps() - 2 * sums.offset;
  const auto less = hn::Set(du, static_cast<std::uint32_t>(steps * sums.inputs));
  for (std::size_t lane = 0; lane < Int8Weights::kBlock; lane += hn::Lanes(di)) {
    const auto sum = hn::BitCast(du, hn::LoadU(di, sums.products + lane));
    fold(di, lane, hn::BitCast(di, hn::Sub(hn::Add(sum, sum), less)));
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
