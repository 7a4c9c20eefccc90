// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/fit/encode_group.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/lanes-inl.h"
#include "halftone/kernels/fit/nearest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// What a candidate makes of a group, for kVectors vectors of rows: [g, kVectors].
template <std::size_t kVectors>
struct Attempt {
  // An implicit or defaulted constructor is not compiled for the target.
  HWY_INLINE Attempt() {}  // NOLINT(modernize-use-equals-default)
  VFit values[kMaxFitGroup * kVectors];
  VFit errors[kMaxFitGroup * kVectors];
  VFitCode codes[kMaxFitGroup * kVectors];
};

/// The codes of a block, and the numbers of their codewords.
/// @param y       [d, kVectors] weights in units of the scale
/// @param levels  [d, kVectors]
template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_INLINE void EncodeBlock(const GroupToEncode& group, std::size_t b, const VFit* y,
                            VFitCode* codes, VFit* levels) {
  const Codewords& words = *group.codewords;
  if constexpr (kStep) {
    const Steps steps(words);
    for (std::size_t v = 0; v < kVectors; ++v) {
      const VFit code = steps.Nearest(y[v]);
      codes[v] = hn::ConvertTo(DFitCode(), code);
      levels[v] = steps.Level(code);
    }
  } else {
    VFit z[d * kVectors];
    InMetric<d, kVectors>(y, group.gram + b * d * d, z);
    NearestWord<d, kVectors>(words, z, group.norms + b * words.count(), codes);
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t v = 0; v < kVectors; ++v) {
        levels[p * kVectors + v] = WordNumber<d>(words, codes[v], p);
      }
    }
  }
}

/// e = distance M of a block; adds their squares to `sums`.
template <std::size_t d, std::size_t kVectors>
HWY_INLINE void ErrorsOfBlock(const VFit* distance, const float* inverse, VFit* errors,
                              VFit* sums) {
  const DFit df;
  for (std::size_t q = 0; q < d; ++q) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      VFit e = hn::Mul(distance[v], hn::Set(df, inverse[q]));
      for (std::size_t p = 1; p <= q; ++p) {
        e = hn::Add(e, hn::Mul(distance[p * kVectors + v], hn::Set(df, inverse[p * d + q])));
      }
      errors[q * kVectors + v] = e;
      sums[v] = hn::Add(sums[v], hn::Mul(e, e));
    }
  }
}

/// One candidate for kVectors vectors of rows from r on.
template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_INLINE void EncodeCandidate(const GroupToEncode& group, std::size_t r, std::size_t candidate,
                                Attempt<kVectors>& attempt, VFit* sums) {
  const DFit df;
  const std::size_t g = group.weights.rows();
  VFit w[kMaxFitGroup * kVectors];
  VFit scale[kVectors];
  VFit offset[kVectors];
  VFit inverse[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    scale[v] = hn::LoadU(df, At(group.scales, candidate, r, v));
    offset[v] = hn::LoadU(df, At(group.offsets, candidate, r, v));
    inverse[v] = Reciprocal(scale[v]);
    sums[v] = hn::Zero(df);
    for (std::size_t i = 0; i < g; ++i) {
      w[i * kVectors + v] = hn::LoadU(df, At(group.weights, i, r, v));
    }
  }
  for (std::size_t i = 0; i < g; i += d) {
    VFit y[d * kVectors];
    VFit levels[d * kVectors];
    for (std::size_t p = 0; p < d * kVectors; ++p) {
      const std::size_t v = p % kVectors;
      y[p] = hn::Mul(hn::Sub(w[i * kVectors + p], offset[v]), inverse[v]);
    }
    EncodeBlock<d, kStep, kVectors>(group, i / d, y, attempt.codes + i / d * kVectors, levels);
    VFit* const errors = attempt.errors + i * kVectors;
    for (std::size_t p = 0; p < d * kVectors; ++p) {
      const std::size_t v = p % kVectors;
      const VFit value = hn::Add(hn::Mul(scale[v], levels[p]), offset[v]);
      attempt.values[i * kVectors + p] = value;
      y[p] = hn::Sub(w[i * kVectors + p], value);
    }
    ErrorsOfBlock<d, kVectors>(y, group.inverse + i * d, errors, sums);
    SubtractProducts<d, kVectors>(errors, group.factor.data_handle() + i * group.factor.stride(),
                                  group.factor.stride(), i + d, g, w);
  }
}

/// Replaces what is stored for the rows of a mask.
template <std::size_t d, std::size_t kVectors>
HWY_INLINE void KeepBetter(const Attempt<kVectors>& attempt, const hn::Mask<DFit>* is_better,
                           std::size_t r, const EncodedGroup& result) {
  const DFit df;
  const DFitCode dc;
  for (std::size_t i = 0; i < result.values.rows(); ++i) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      float* const value = At(result.values, i, r, v);
      float* const error = At(result.errors, i, r, v);
      const std::size_t at = i * kVectors + v;
      hn::StoreU(hn::IfThenElse(is_better[v], attempt.values[at], hn::LoadU(df, value)), df, value);
      hn::StoreU(hn::IfThenElse(is_better[v], attempt.errors[at], hn::LoadU(df, error)), df, error);
    }
  }
  for (std::size_t b = 0; b < result.codes.rows(); ++b) {
    for (std::size_t v = 0; v < kVectors; ++v) {
      std::int32_t* const code = At(result.codes, b, r, v);
      hn::StoreU(hn::IfThenElse(hn::RebindMask(dc, is_better[v]), attempt.codes[b * kVectors + v],
                                hn::LoadU(dc, code)),
                 dc, code);
    }
  }
}

template <std::size_t d, bool kStep, std::size_t kVectors>
HWY_NOINLINE void EncodeRows(const GroupToEncode& group, std::size_t r,
                             const EncodedGroup& result) {
  const DFit df;
  const DFitCode dc;
  Attempt<kVectors> attempt;
  VFit best[kVectors];
  VFitCode chosen[kVectors];
  for (std::size_t k = 0; k < group.scales.rows(); ++k) {
    VFit sums[kVectors];
    hn::Mask<DFit> is_better[kVectors];
    EncodeCandidate<d, kStep, kVectors>(group, r, k, attempt, sums);
    for (std::size_t v = 0; v < kVectors; ++v) {
      if (k == 0) {
        best[v] = sums[v];
        chosen[v] = hn::Zero(dc);
        is_better[v] = hn::Eq(hn::Zero(df), hn::Zero(df));
        continue;
      }
      is_better[v] = hn::Lt(sums[v], best[v]);
      best[v] = hn::IfThenElse(is_better[v], sums[v], best[v]);
      chosen[v] = hn::IfThenElse(hn::RebindMask(dc, is_better[v]),
                                 hn::Set(dc, static_cast<std::int32_t>(k)), chosen[v]);
    }
    KeepBetter<d, kVectors>(attempt, is_better, r, result);
  }
  for (std::size_t v = 0; v < kVectors; ++v) {
    hn::StoreU(chosen[v], dc, result.chosen.data() + r + v * hn::Lanes(df));
  }
}

template <std::size_t d, bool kStep>
HWY_INLINE void EncodeAll(const GroupToEncode& group, const EncodedGroup& result) {
  ForRows(
      group.weights.cols(),
      [&](std::size_t r) HWY_ATTR { EncodeRows<d, kStep, 2>(group, r, result); },
      [&](std::size_t r) HWY_ATTR { EncodeRows<d, kStep, 1>(group, r, result); });
}

void EncodeGroup(const GroupToEncode& group, const EncodedGroup& result) {
  const Codewords& words = *group.codewords;
  if (words.numbers() == 4) return EncodeAll<4, false>(group, result);
  if (words.numbers() == 2) return EncodeAll<2, false>(group, result);
  if (words.step() > 0) return EncodeAll<1, true>(group, result);
  EncodeAll<1, false>(group, result);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(EncodeGroup);

void encode_group(const GroupToEncode& group, const EncodedGroup& result) noexcept {
  HALFTONE_ASSERT(group.weights.rows() <= kMaxFitGroup);
  HALFTONE_ASSERT(group.weights.cols() % kFitLanes == 0);
  HALFTONE_DISPATCH(EncodeGroup)(group, result);
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
