// SPDX-License-Identifier: Apache-2.0
// The nearest codeword for the weights of several rows; nearest_ref.h defines it. Lanes are rows.
// Included once per target; no #pragma once.
#if defined(HALFTONE_KERNELS_FIT_NEAREST_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HALFTONE_KERNELS_FIT_NEAREST_INL_H_
#undef HALFTONE_KERNELS_FIT_NEAREST_INL_H_
#else
#define HALFTONE_KERNELS_FIT_NEAREST_INL_H_
#endif

#include <hwy/highway.h>

#include "halftone/kernels/fit/codewords.h"
#include "halftone/kernels/fit/nearest_ref.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using DFit = hn::CappedTag<float, kFitLanes>;
using DFitCode = hn::RebindToSigned<DFit>;
using VFit = hn::Vec<DFit>;
using VFitCode = hn::Vec<DFitCode>;

HWY_INLINE VFit Reciprocal(VFit s) {
  const DFit df;
  const auto zero = hn::Zero(df);
  const auto largest = hn::Set(df, kLargestReciprocal);
  const auto inverse = hn::Div(hn::Set(df, 1.0F), s);
  const auto within = hn::Min(hn::Max(inverse, hn::Neg(largest)), largest);
  return hn::IfThenElse(hn::Eq(s, zero), zero, within);
}

/// Codewords with a step, ready for rounding.
class Steps {
 public:
  HWY_INLINE explicit Steps(const Codewords& codewords)
      : first_(hn::Set(DFit(), codewords.words()[0])),
        step_(hn::Set(DFit(), codewords.step())),
        inverse_(hn::Set(DFit(), 1 / codewords.step())),
        last_(hn::Set(DFit(), static_cast<float>(codewords.count() - 1))) {}

  /// The code nearest to y, as a float.
  HWY_INLINE VFit Nearest(VFit y) const {
    const DFit df;
    const auto to_integer = hn::Set(df, 0x1.8p23F);
    const auto place = hn::Mul(hn::Sub(y, first_), inverse_);
    const auto within = hn::Min(hn::Max(place, hn::Zero(df)), last_);
    return hn::Sub(hn::Add(within, to_integer), to_integer);
  }
  HWY_INLINE VFit Level(VFit code) const { return hn::Add(first_, hn::Mul(code, step_)); }

 private:
  VFit first_;
  VFit step_;
  VFit inverse_;
  VFit last_;
};

/// The code of the largest z' c - norm for kVectors vectors of rows.
/// @param z  [d, kVectors]
template <std::size_t d, std::size_t kVectors>
HWY_INLINE void NearestWord(const Codewords& codewords, const VFit* z, const float* norms,
                            VFitCode* codes) {
  const DFit df;
  const DFitCode dc;
  const float* HWY_RESTRICT c = codewords.words();
  const auto gain = [&](std::size_t k, std::size_t v) HWY_ATTR {
    VFit sum = hn::Sub(hn::Mul(z[v], hn::Set(df, c[k * d])), hn::Set(df, norms[k]));
    for (std::size_t p = 1; p < d; ++p) {
      sum = hn::Add(sum, hn::Mul(z[p * kVectors + v], hn::Set(df, c[k * d + p])));
    }
    return sum;
  };
  VFit best[kVectors];
  VFitCode found[kVectors];
  for (std::size_t v = 0; v < kVectors; ++v) {
    best[v] = gain(0, v);
    found[v] = hn::Zero(dc);
  }
  const std::size_t count = codewords.count();
  for (std::size_t k = 1; k < count; ++k) {
    const auto code = hn::Set(dc, static_cast<std::int32_t>(k));
    for (std::size_t v = 0; v < kVectors; ++v) {
      const auto sum = gain(k, v);
      const auto is_better = hn::Gt(sum, best[v]);
      best[v] = hn::IfThenElse(is_better, sum, best[v]);
      found[v] = hn::IfThenElse(hn::RebindMask(dc, is_better), code, found[v]);
    }
  }
  for (std::size_t v = 0; v < kVectors; ++v) codes[v] = found[v];
}

/// Number p of the codewords of these codes.
template <std::size_t d>
HWY_INLINE VFit WordNumber(const Codewords& codewords, VFitCode codes, std::size_t p) {
  const DFit df;
  const DFitCode dc;
  const auto first = hn::Mul(codes, hn::Set(dc, static_cast<std::int32_t>(d)));
  return hn::GatherIndex(df, codewords.words() + p, first);
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
