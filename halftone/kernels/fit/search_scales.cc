// SPDX-License-Identifier: Apache-2.0
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "halftone/kernels/fit/search_scales.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "halftone/kernels/dispatch.h"
#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/lanes-inl.h"
#include "halftone/kernels/fit/nearest-inl.h"

HWY_BEFORE_NAMESPACE();
namespace halftone::kernels::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Scales and offsets of a vector of rows.
struct Candidates {
  // An implicit or defaulted constructor is not compiled for the target.
  HWY_INLINE Candidates() {}  // NOLINT(modernize-use-equals-default)
  HWY_INLINE Candidates(VFit scales, VFit offsets) : scale(scales), offset(offsets) {}
  VFit scale;
  VFit offset;
};

/// Levels of codewords with a step, and of others.
class LevelsByStep {
 public:
  HWY_INLINE explicit LevelsByStep(const Codewords& codewords) : steps_(codewords) {}
  HWY_INLINE VFit Nearest(VFit y) const { return steps_.Level(steps_.Nearest(y)); }

 private:
  Steps steps_;
};

class LevelsOfTable {
 public:
  HWY_INLINE explicit LevelsOfTable(const Codewords& codewords) : codewords_(codewords) {}
  HWY_INLINE VFit Nearest(VFit y) const {
    VFitCode code;
    NearestWord<1, 1>(codewords_, &y, codewords_.half_squares().data(), &code);
    return WordNumber<1>(codewords_, code, 0);
  }

 private:
  const Codewords& codewords_;
};

/// Sums over the columns of a group for the levels of a candidate.
struct LevelMoments {
  VFit error;
  VFit q1;
  VFit q2;
  VFit w1;
  VFit wq;
};

/// The search for a vector of rows from r on.
template <class Levels>
class RowsSearch {
 public:
  HWY_INLINE RowsSearch(const ScaleSearch& search, const Levels& levels, std::size_t r)
      : search_(search), levels_(levels), r_(r) {
    const DFit df;
    low_ = hn::Zero(df);
    high_ = hn::Zero(df);
    float total = 0;
    for (std::size_t i = 0; i < search.weights.rows(); ++i) {
      const VFit w = hn::LoadU(df, At(search.weights, i, r, 0));
      low_ = hn::Min(low_, w);
      high_ = hn::Max(high_, w);
      total += search.importance[i];
    }
    total_ = hn::Set(df, total);
    is_first_ = true;
  }

  HWY_INLINE Candidates Start(float share, bool negative) const {
    const DFit df;
    const float least = search_.codewords->least();
    const float largest = search_.codewords->largest();
    const auto f = hn::Set(df, share);
    if (search_.has_offsets) {
      const auto width = hn::Mul(hn::Sub(high_, low_), f);
      const auto scale = hn::Mul(width, hn::Set(df, 1 / (largest - least)));
      const auto offset = hn::Sub(hn::Mul(low_, f), hn::Mul(scale, hn::Set(df, least)));
      return {scale, hn::Min(offset, hn::Set(df, search_.largest_offset))};
    }
    const auto up = hn::Set(df, largest > 0 ? 1 / largest : 0);
    const auto down = hn::Set(df, least < 0 ? 1 / least : 0);
    const auto covering = negative ? hn::Min(hn::Mul(high_, down), hn::Mul(low_, up))
                                   : hn::Max(hn::Mul(high_, up), hn::Mul(low_, down));
    return {hn::Mul(covering, f), hn::Zero(df)};
  }

  /// Keeps the candidates where they are the best so far; returns those of least squares.
  HWY_INLINE Candidates Try(const Candidates& candidates) {
    const DFit df;
    const LevelMoments sums = Sum(candidates);
    auto is_better = hn::Eq(hn::Zero(df), hn::Zero(df));
    if (!is_first_) is_better = hn::Lt(sums.error, least_error_);
    if (is_first_) best_ = candidates;
    least_error_ = is_first_ ? sums.error : hn::IfThenElse(is_better, sums.error, least_error_);
    best_.scale = hn::IfThenElse(is_better, candidates.scale, best_.scale);
    best_.offset = hn::IfThenElse(is_better, candidates.offset, best_.offset);
    is_first_ = false;
    return LeastSquares(sums);
  }

  HWY_INLINE const Candidates& Best() const { return best_; }

 private:
  HWY_INLINE LevelMoments Sum(const Candidates& candidates) const {
    const DFit df;
    const auto zero = hn::Zero(df);
    LevelMoments sums{zero, zero, zero, zero, zero};
    const auto inverse = Reciprocal(candidates.scale);
    for (std::size_t i = 0; i < search_.weights.rows(); ++i) {
      const auto w = hn::LoadU(df, At(search_.weights, i, r_, 0));
      const auto v = hn::Set(df, search_.importance[i]);
      const auto q = levels_.Nearest(hn::Mul(hn::Sub(w, candidates.offset), inverse));
      const auto value = hn::Add(hn::Mul(candidates.scale, q), candidates.offset);
      const auto distance = hn::Sub(w, value);
      const auto vq = hn::Mul(v, q);
      sums.error = hn::Add(sums.error, hn::Mul(hn::Mul(v, distance), distance));
      sums.q1 = hn::Add(sums.q1, vq);
      sums.q2 = hn::Add(sums.q2, hn::Mul(vq, q));
      sums.w1 = hn::Add(sums.w1, hn::Mul(v, w));
      sums.wq = hn::Add(sums.wq, hn::Mul(vq, w));
    }
    return sums;
  }

  HWY_INLINE Candidates LeastSquares(const LevelMoments& sums) const {
    const DFit df;
    const auto zero = hn::Zero(df);
    const auto ratio = hn::Div(sums.wq, sums.q2);
    const Candidates alone{hn::IfThenElseZero(hn::Gt(sums.q2, zero), ratio), zero};
    if (!search_.has_offsets) return alone;
    const auto determinant = hn::Sub(hn::Mul(total_, sums.q2), hn::Mul(sums.q1, sums.q1));
    const auto scale =
        hn::Div(hn::Sub(hn::Mul(total_, sums.wq), hn::Mul(sums.q1, sums.w1)), determinant);
    const auto offset =
        hn::Div(hn::Sub(hn::Mul(sums.q2, sums.w1), hn::Mul(sums.q1, sums.wq)), determinant);
    const auto is_beyond = hn::Gt(offset, hn::Set(df, search_.largest_offset));
    const auto is_sound = hn::And(hn::Gt(determinant, zero), hn::Gt(scale, zero));
    return {hn::IfThenElse(is_sound, hn::IfThenElse(is_beyond, alone.scale, scale), best_.scale),
            hn::IfThenElse(is_sound, hn::IfThenElse(is_beyond, zero, offset), best_.offset)};
  }

  const ScaleSearch& search_;
  const Levels& levels_;
  std::size_t r_;
  VFit low_;
  VFit high_;
  VFit total_;
  bool is_first_;
  VFit least_error_;
  Candidates best_;
};

template <class Levels>
HWY_INLINE void SearchAll(const ScaleSearch& search, float* scales, float* offsets) {
  const DFit df;
  const Levels levels(*search.codewords);
  const int signs = search.has_sign && !search.has_offsets ? 2 : 1;
  for (std::size_t r = 0; r < search.weights.cols(); r += hn::Lanes(df)) {
    RowsSearch<Levels> rows(search, levels, r);
    for (const float share : search.shares) {
      for (int sign = 0; sign < signs; ++sign) {
        rows.Try(rows.Try(rows.Start(share, sign == 1)));
      }
    }
    // The sign of zero, which minima of zeros do not define, is lost.
    hn::StoreU(hn::Add(rows.Best().scale, hn::Zero(df)), df, scales + r);
    hn::StoreU(hn::Add(rows.Best().offset, hn::Zero(df)), df, offsets + r);
  }
}

void SearchScales(const ScaleSearch& search, float* scales, float* offsets) {
  if (search.codewords->step() > 0) {
    SearchAll<LevelsByStep>(search, scales, offsets);
  } else {
    SearchAll<LevelsOfTable>(search, scales, offsets);
  }
}

}  // namespace halftone::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace halftone::kernels {

HALFTONE_EXPORT(SearchScales);

void search_scales(const ScaleSearch& search, std::span<float> scales,
                   std::span<float> offsets) noexcept {
  HALFTONE_ASSERT(search.codewords->numbers() == 1);
  HALFTONE_ASSERT(search.weights.cols() % kFitLanes == 0);
  HALFTONE_DISPATCH(SearchScales)(search, scales.data(), offsets.data());
}

}  // namespace halftone::kernels
#endif  // HWY_ONCE
