// SPDX-License-Identifier: Apache-2.0
// Adds the sums of a group to the outputs, for planes and for levels.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_INT8_MATMUL_FOLD_GROUP_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_INT8_MATMUL_FOLD_GROUP_INL_H_
#undef HALFTONE_KERNELS_INT8_MATMUL_FOLD_GROUP_INL_H_
#else
#define HALFTONE_KERNELS_INT8_MATMUL_FOLD_GROUP_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/int8_matmul/int8_weights.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// acc += half_step (2 P - L) + center Q, for the outputs of a group and block.
struct FoldGroup {
  const float* HWY_RESTRICT floats;  ///< [1 or 2, 32]: half_step, center
  bool has_offset;                   ///< whether there are centers
  std::int32_t inputs;               ///< Q: sum of q
  std::uint32_t less;                ///< L
  float* HWY_RESTRICT acc;           ///< [32]

  /// Folds a vector of 32-bit sums P, of the outputs from `lane` on.
  template <class V>
  HWY_INLINE void operator()(std::size_t lane, V p) const {
    const hn::DFromV<V> di;
    const hn::RebindToFloat<decltype(di)> d;
    const auto odd = hn::Sub(hn::Add(p, p), hn::Set(di, static_cast<hn::TFromV<V>>(less)));
    const auto sum = hn::ConvertTo(d, hn::BitCast(hn::RebindToSigned<decltype(di)>(), odd));
    const auto term = hn::Mul(hn::LoadU(d, floats + lane), sum);
    auto total = hn::Add(hn::LoadU(d, acc + lane), term);
    if (has_offset) {
      const auto center = hn::LoadU(d, floats + Int8Weights::kBlock + lane);
      total = hn::Add(total, hn::Mul(center, hn::Set(d, static_cast<float>(inputs))));
    }
    hn::StoreU(total, d, acc + lane);
  }
};

/// The sums of a group and block of levels.
struct GroupSums {
  const std::int32_t* products;  ///< [32]: of (u - offset) q
  std::int32_t inputs;           ///< of q
  std::int32_t offset;
};

HWY_INLINE void FoldLevels(const Int8Weights& weights, const float* HWY_RESTRICT floats,
                           const GroupSums& sums, float* HWY_RESTRICT acc) {
  const hn::CappedTag<std::uint32_t, Int8Weights::kBlock> du;
  const auto steps = static_cast<std::uint32_t>(weights.steps() - 2 * sums.offset);
  const std::uint32_t less = steps * static_cast<std::uint32_t>(sums.inputs);
  const FoldGroup fold{floats, weights.has_offset(), sums.inputs, less, acc};
  for (std::size_t lane = 0; lane < Int8Weights::kBlock; lane += hn::Lanes(du)) {
    const hn::RebindToSigned<decltype(du)> di;
    fold(lane, hn::BitCast(du, hn::LoadU(di, sums.products + lane)));
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
