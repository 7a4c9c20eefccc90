// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/fit/sweep_group.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/lanes-inl.h"
#include "halftone/kernels/fit/nearest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The numbers of the codewords of block b.
template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_INLINE void LoadLevels(const Codewords& words, MatrixView<const std::int32_t> codes,
                           std::size_t b, std::size_t r, VFit* levels) {
  const DFitCode dc;
  for (std::size_t v = 0; v < kVectors; ++v) {
    const VFitCode code = hn::LoadU(dc, At(codes, b, r, v));
    if constexpr (kStep) {
      levels[v] = Steps(words).Level(hn::ConvertTo(DFit(), code));
    } else {
      for (std::size_t p = 0; p < d; ++p) {
        levels[p * kVectors + v] = WordNumber<d>(words, code, p);
      }
    }
  }
}

/// The codes of block b with the least error, from those there are.
/// @param r       [d, kVectors] the gradient of the block
/// @param levels  [d, kVectors] numbers of the codewords there are, replaced by the new ones
template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_INLINE void SweepBlock(const GroupToSweep& group, std::size_t b, const VFit* r,
                           const VFit* inverse, VFitCode* codes, VFit* levels) {
  const DFit df;
  const Codewords& words = *group.codewords;
  if constexpr (kStep) {
    const Steps steps(words);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const VFit step = hn::Mul(hn::Mul(r[v], inverse[v]), hn::Set(df, group.reciprocals[b]));
      const VFit code = steps.Nearest(hn::Add(levels[v], step));
      codes[v] = hn::ConvertTo(DFitCode(), code);
      levels[v] = steps.Level(code);
    }
  } else {
    VFit z[d * kVectors];
    InMetric<d, kVectors>(levels, group.gram + b * d * d, z);
    for (std::size_t p = 0; p < d * kVectors; ++p) {
      z[p] = hn::Add(z[p], hn::Mul(r[p], inverse[p % kVectors]));
    }
    NearestWord<d, kVectors>(words, z, group.norms + b * words.count(), codes);
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        levels[p * kVectors + v] = WordNumber<d>(words, codes[v], p);
      }
    }
  }
}

/// The rows of a group while they are swept; all but the scales [g, kVectors].
template <std::size_t kVectors>
struct Sweep {
  // An implicit or defaulted constructor is not compiled for the target.
  HWY_INLINE Sweep() {}  // NOLINT(modernize-use-equals-default)
  VFit gradient[kMaxFitGroup * kVectors];
  VFit old[kMaxFitGroup * kVectors];
  VFit levels[kMaxFitGroup * kVectors];
  VFit values[kMaxFitGroup * kVectors];
  VFit scale[kVectors];
  VFit offset[kVectors];
  VFit inverse[kVectors];
};

/// Loads a group and gives its codes their new values.
template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_INLINE void BeginSweep(const GroupToSweep& group, const SweptGroup& result, std::size_t r,
                           Sweep<kVectors>& sweep) {
  const DFit df;
  const std::size_t g = group.hessian.rows();
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t at = r + v * hn::Lanes(df);
    sweep.scale[v] = hn::LoadU(df, group.scales.data() + at);
    sweep.offset[v] = hn::LoadU(df, group.offsets.data() + at);
    sweep.inverse[v] = Reciprocal(sweep.scale[v]);
    for (std::size_t i = 0; i < g; ++i) {
      sweep.gradient[i * kVectors + v] = hn::LoadU(df, At(group.gradient, i, r, v));
      sweep.old[i * kVectors + v] = hn::LoadU(df, At(result.values, i, r, v));
    }
  }
  for (std::size_t i = 0; i < g; i += d) {
    LoadLevels<d, kStep, kVectors>(*group.codewords, result.codes, i / d, r,
                                   sweep.levels + i * kVectors);
    VFit changes[d * kVectors];
    for (std::size_t p = 0; p < d * kVectors; ++p) {
      const std::size_t at = i * kVectors + p;
      const std::size_t v = p % kVectors;
      sweep.values[at] = hn::Add(hn::Mul(sweep.scale[v], sweep.levels[at]), sweep.offset[v]);
      changes[p] = hn::Sub(sweep.values[at], sweep.old[at]);
    }
    SubtractProducts<d, kVectors>(changes, group.hessian.data_handle() + i * group.hessian.stride(),
                                  group.hessian.stride(), 0, g, sweep.gradient);
  }
}

template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_NOINLINE void SweepRows(const GroupToSweep& group, std::size_t r, const SweptGroup& result) {
  const DFit df;
  const DFitCode dc;
  const std::size_t g = group.hessian.rows();
  Sweep<kVectors> sweep;
  BeginSweep<d, kStep, kVectors>(group, result, r, sweep);
  for (std::size_t i = 0; i < g; i += d) {
    VFitCode codes[kVectors];
    VFit* const levels = sweep.levels + i * kVectors;
    SweepBlock<d, kStep, kVectors>(group, i / d, sweep.gradient + i * kVectors, sweep.inverse,
                                   codes, levels);
    VFit changes[d * kVectors];
    for (std::size_t p = 0; p < d * kVectors; ++p) {
      const std::size_t v = p % kVectors;
      const std::size_t at = i * kVectors + p;
      const VFit value = hn::Add(hn::Mul(sweep.scale[v], levels[p]), sweep.offset[v]);
      changes[p] = hn::Sub(value, sweep.values[at]);
      hn::StoreU(value, df, At(result.values, i + p / kVectors, r, v));
      hn::StoreU(hn::Sub(value, sweep.old[at]), df, At(result.deltas, i + p / kVectors, r, v));
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      hn::StoreU(codes[v], dc, At(result.codes, i / d, r, v));
    }
    SubtractProducts<d, kVectors>(changes, group.hessian.data_handle() + i * group.hessian.stride(),
                                  group.hessian.stride(), i + d, g, sweep.gradient);
  }
}

template <std::size_t d, bool kStep>
HWY_INLINE void SweepAll(const GroupToSweep& group, const SweptGroup& result) {
  ForRows(
      group.gradient.cols(),
      [&](std::size_t r) HWY_ATTR { SweepRows<d, kStep, 2>(group, r, result); },
      [&](std::size_t r) HWY_ATTR { SweepRows<d, kStep, 1>(group, r, result); });
}

void SweepGroup(const GroupToSweep& group, const SweptGroup& result) {
  const Codewords& words = *group.codewords;
  if (words.numbers() == 4) return SweepAll<4, false>(group, result);
  if (words.numbers() == 2) return SweepAll<2, false>(group, result);
  if (words.step() > 0) return SweepAll<1, true>(group, result);
  SweepAll<1, false>(group, result);
}

template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_NOINLINE void SumRows(const LevelsToSum& group, std::size_t r, const LevelSums& sums) {
  const DFit df;
  const std::size_t g = group.hessian.rows();
  VFit levels[kMaxFitGroup * kVectors];
  for (std::size_t i = 0; i < g; i += d) {
    LoadLevels<d, kStep, kVectors>(*group.codewords, group.codes, i / d, r, levels + i * kVectors);
  }
  VFit sum[4][kVectors];
  for (auto& each : sum) {
    for (VFit& part : each) part = hn::Zero(df);
  }
  for (std::size_t l = 0; l < g; ++l) {
    VFit products[kVectors];
    for (VFit& product : products) product = hn::Zero(df);
    // H is symmetric: its column l lies in row l.
    const float* const h = group.hessian.data_handle() + l * group.hessian.stride();
    for (std::size_t i = 0; i < g; ++i) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        products[v] = hn::Add(products[v], hn::Mul(levels[i * kVectors + v], hn::Set(df, h[i])));
      }
    }
    for (std::size_t v = 0; v < kVectors; ++v) {
      const VFit u = levels[l * kVectors + v];
      const VFit gradient = hn::LoadU(df, At(group.gradient, l, r, v));
      sum[0][v] = hn::Add(sum[0][v], hn::Mul(u, gradient));
      sum[1][v] = hn::Add(sum[1][v], gradient);
      sum[2][v] = hn::Add(sum[2][v], hn::Mul(u, products[v]));
      sum[3][v] = hn::Add(sum[3][v], products[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    const std::size_t at = r + v * hn::Lanes(df);
    hn::StoreU(sum[0][v], df, sums.level_gradient.data() + at);
    hn::StoreU(sum[1][v], df, sums.gradient.data() + at);
    hn::StoreU(sum[2][v], df, sums.level_norm.data() + at);
    hn::StoreU(sum[3][v], df, sums.level_sum.data() + at);
  }
}

template <std::size_t d, bool kStep>
HWY_INLINE void SumAll(const LevelsToSum& group, const LevelSums& sums) {
  ForRows(
      group.gradient.cols(), [&](std::size_t r) HWY_ATTR { SumRows<d, kStep, 2>(group, r, sums); },
      [&](std::size_t r) HWY_ATTR { SumRows<d, kStep, 1>(group, r, sums); });
}

void SumLevels(const LevelsToSum& group, const LevelSums& sums) {
  const Codewords& words = *group.codewords;
  if (words.numbers() == 4) return SumAll<4, false>(group, sums);
  if (words.numbers() == 2) return SumAll<2, false>(group, sums);
  if (words.step() > 0) return SumAll<1, true>(group, sums);
  SumAll<1, false>(group, sums);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(SweepGroup);
HALFTONE_EXPORT(SumLevels);

void sweep_group(const GroupToSweep& group, const SweptGroup& result) noexcept {
  HALFTONE_ASSERT(group.hessian.rows() <= kMaxFitGroup);
  HALFTONE_ASSERT(group.gradient.cols() % kFitLanes == 0);
  HALFTONE_DISPATCH(SweepGroup)(group, result);
}

void sum_levels(const LevelsToSum& group, const LevelSums& sums) noexcept {
  HALFTONE_ASSERT(group.hessian.rows() <= kMaxFitGroup);
  HALFTONE_ASSERT(group.gradient.cols() % kFitLanes == 0);
  HALFTONE_DISPATCH(SumLevels)(group, sums);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
