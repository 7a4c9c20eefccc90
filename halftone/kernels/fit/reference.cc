// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "halftone/kernels/fit/fit_group.h"
#include "halftone/kernels/fit/nearest_ref.h"

namespace halftone::kernels {
namespace {

struct LaneOfGroup {
  std::array<float, kMaxFitGroup> errors;
  std::array<float, kMaxFitGroup> values;
  std::array<std::int32_t, kMaxFitGroup> codes;
  float sum;
};

struct ScaleAndOffset {
  float scale;
  float offset;
};

/// The values and errors of the block from column i on, for its code.
/// @param w  [d] its weights
void set_errors(const GroupToEncode& group, std::size_t i, const float* w,
                const ScaleAndOffset& candidate, LaneOfGroup& lane) {
  const Codewords& words = *group.codewords;
  const std::size_t d = words.numbers();
  const std::size_t b = i / d;
  std::array<float, 4> error{};
  for (std::size_t p = 0; p < d; ++p) {
    const auto c = static_cast<std::size_t>(lane.codes[b]) * d + p;
    lane.values[i + p] = value_reference(candidate.scale, words.words()[c], candidate.offset);
    error[p] = w[p] - lane.values[i + p];
  }
  const float* const inverse_factor = group.inverse + b * d * d;
  for (std::size_t q = 0; q < d; ++q) {
    float e = error[0] * inverse_factor[q];
    for (std::size_t p = 1; p <= q; ++p) {
      const float term = error[p] * inverse_factor[p * d + q];
      e += term;
    }
    lane.errors[i + q] = e;
    const float square = e * e;
    lane.sum += square;
  }
}

/// Column r of a group for one candidate.
LaneOfGroup encode_lane(const GroupToEncode& group, std::size_t r, std::size_t candidate) {
  const Codewords& words = *group.codewords;
  const std::size_t d = words.numbers();
  const std::size_t g = group.weights.rows();
  const float s = group.scales(candidate, r);
  const float m = group.offsets(candidate, r);
  const float inverse = reciprocal_reference(s);
  LaneOfGroup lane{};
  std::array<float, kMaxFitGroup> w{};
  for (std::size_t i = 0; i < g; ++i) w[i] = group.weights(i, r);
  for (std::size_t i = 0; i < g; i += d) {
    const std::size_t b = i / d;
    std::array<float, 4> y{};
    for (std::size_t p = 0; p < d; ++p) y[p] = (w[i + p] - m) * inverse;
    lane.codes[b] =
        words.step() > 0
            ? nearest_step_reference(words, y[0])
            : nearest_word_reference(
                  words, in_metric_reference(y.data(), group.gram + b * d * d, d).data(),
                  group.norms + b * words.count());
    set_errors(group, i, w.data() + i, {s, m}, lane);
    for (std::size_t l = i + d; l < g; ++l) {
      for (std::size_t p = 0; p < d; ++p) {
        const float term = lane.errors[i + p] * group.factor(i + p, l);
        w[l] -= term;
      }
    }
  }
  return lane;
}

struct Candidate {
  float scale = 0;
  float offset = 0;
};

/// Least squares: the candidate that fits the levels of a row best.
class RowSearch {
 public:
  RowSearch(const ScaleSearch& search, std::size_t row) : search_(search), row_(row) {
    for (std::size_t i = 0; i < search.weights.rows(); ++i) {
      low_ = std::min(low_, search.weights(i, row));
      high_ = std::max(high_, search.weights(i, row));
      total_ += search.importance[i];
    }
  }

  /// The start of a share; `sign` is that of the scale.
  [[nodiscard]] Candidate start(float share, float sign) const {
    const float least = search_.codewords->least();
    const float largest = search_.codewords->largest();
    if (search_.has_offsets) {
      const float width = (high_ - low_) * share;
      const float scale = width * (1 / (largest - least));
      const float below = scale * least;
      return {scale, std::min(low_ * share - below, search_.largest_offset)};
    }
    const float up = largest > 0 ? 1 / largest : 0;
    const float down = least < 0 ? 1 / least : 0;
    const float covering =
        sign > 0 ? std::max(high_ * up, low_ * down) : std::min(high_ * down, low_ * up);
    return {covering * share, 0};
  }

  /// Takes the nearest levels for a candidate, and keeps it if it is the best so far.
  /// @return the candidate of least squares for these levels
  Candidate try_candidate(const Candidate& candidate) {
    const float inverse = reciprocal_reference(candidate.scale);
    float error = 0, q1 = 0, q2 = 0, w1 = 0, wq = 0;
    for (std::size_t i = 0; i < search_.weights.rows(); ++i) {
      const float w = search_.weights(i, row_);
      const float v = search_.importance[i];
      const float y = (w - candidate.offset) * inverse;
      const float q = level_nearest(y);
      const float product = candidate.scale * q;
      const float distance = w - (product + candidate.offset);
      const float vq = v * q;
      error += v * distance * distance;
      q1 += vq;
      q2 += vq * q;
      w1 += v * w;
      wq += vq * w;
    }
    if (is_first_ || error < least_error_) {
      is_first_ = false;
      least_error_ = error;
      best_ = candidate;
    }
    return least_squares(q1, q2, w1, wq);
  }

  [[nodiscard]] const Candidate& best() const { return best_; }

 private:
  [[nodiscard]] float level_nearest(float y) const {
    const Codewords& words = *search_.codewords;
    if (words.step() > 0) {
      const float offset = static_cast<float>(nearest_step_reference(words, y)) * words.step();
      return words.words()[0] + offset;
    }
    return words.words()[nearest_word_reference(words, &y, words.half_squares().data())];
  }

  [[nodiscard]] Candidate least_squares(float q1, float q2, float w1, float wq) const {
    const Candidate alone{q2 > 0 ? wq / q2 : 0, 0};
    if (!search_.has_offsets) return alone;
    const float determinant = total_ * q2 - q1 * q1;
    if (!(determinant > 0)) return best_;
    const Candidate both{(total_ * wq - q1 * w1) / determinant, (q2 * w1 - q1 * wq) / determinant};
    if (!(both.scale > 0)) return best_;
    return both.offset > search_.largest_offset ? alone : both;
  }

  const ScaleSearch& search_;
  std::size_t row_;
  float low_ = 0;
  float high_ = 0;
  float total_ = 0;
  bool is_first_ = true;
  float least_error_ = 0;
  Candidate best_;
};

/// Subtracts the change of weight i from the gradient of the columns [first, g).
void subtract_change(const GroupToSweep& group, std::size_t i, float change, std::size_t first,
                     float* gradient) {
  for (std::size_t l = first; l < group.hessian.cols(); ++l) {
    const float term = change * group.hessian(i, l);
    gradient[l] -= term;
  }
}

/// The code of block b, whose codeword is `c` and gradient `r`.
std::int32_t swept_code(const GroupToSweep& group, std::size_t b, const float* c, const float* r,
                        float inverse) {
  const Codewords& words = *group.codewords;
  const std::size_t d = words.numbers();
  if (words.step() > 0) {
    const float step = r[0] * inverse * group.reciprocals[b];
    return nearest_step_reference(words, c[0] + step);
  }
  std::array<float, 4> z = in_metric_reference(c, group.gram + b * d * d, d);
  for (std::size_t q = 0; q < d; ++q) {
    const float term = r[q] * inverse;
    z[q] += term;
  }
  return nearest_word_reference(words, z.data(), group.norms + b * words.count());
}

void sweep_lane(const GroupToSweep& group, const SweptGroup& result, std::size_t r) {
  const Codewords& words = *group.codewords;
  const std::size_t d = words.numbers();
  const std::size_t g = group.hessian.rows();
  const float s = group.scales[r];
  const float m = group.offsets[r];
  const float inverse = reciprocal_reference(s);
  std::array<float, kMaxFitGroup> gradient{};
  for (std::size_t i = 0; i < g; ++i) gradient[i] = group.gradient(i, r);
  const auto word = [&](std::size_t b) {
    return words.words() + static_cast<std::size_t>(result.codes(b, r)) * d;
  };
  std::array<float, kMaxFitGroup> old{};
  for (std::size_t i = 0; i < g; ++i) {
    old[i] = result.values(i, r);
    result.values(i, r) = value_reference(s, word(i / d)[i % d], m);
    subtract_change(group, i, result.values(i, r) - old[i], 0, gradient.data());
  }
  for (std::size_t i = 0; i < g; i += d) {
    const std::size_t b = i / d;
    result.codes(b, r) = swept_code(group, b, word(b), gradient.data() + i, inverse);
    for (std::size_t p = 0; p < d; ++p) {
      const float value = value_reference(s, word(b)[p], m);
      const float change = value - result.values(i + p, r);
      result.values(i + p, r) = value;
      result.deltas(i + p, r) = value - old[i + p];
      subtract_change(group, i + p, change, i + d, gradient.data());
    }
  }
}

}  // namespace

void encode_group_reference(const GroupToEncode& group, const EncodedGroup& result) noexcept {
  const std::size_t g = group.weights.rows();
  for (std::size_t r = 0; r < group.weights.cols(); ++r) {
    LaneOfGroup best = encode_lane(group, r, 0);
    result.chosen[r] = 0;
    for (std::size_t k = 1; k < group.scales.rows(); ++k) {
      const LaneOfGroup lane = encode_lane(group, r, k);
      if (!(lane.sum < best.sum)) continue;
      best = lane;
      result.chosen[r] = static_cast<std::int32_t>(k);
    }
    for (std::size_t i = 0; i < g; ++i) {
      result.errors(i, r) = best.errors[i];
      result.values(i, r) = best.values[i];
    }
    for (std::size_t b = 0; b < result.codes.rows(); ++b) result.codes(b, r) = best.codes[b];
  }
}

void search_scales_reference(const ScaleSearch& search, std::span<float> scales,
                             std::span<float> offsets) noexcept {
  const bool both_signs = search.has_sign && !search.has_offsets;
  for (std::size_t r = 0; r < search.weights.cols(); ++r) {
    RowSearch row(search, r);
    for (const float share : search.shares) {
      for (const float sign : {1.0F, -1.0F}) {
        if (sign < 0 && !both_signs) continue;
        row.try_candidate(row.try_candidate(row.start(share, sign)));
      }
    }
    scales[r] = row.best().scale + 0.0F;  // no negative zero
    offsets[r] = row.best().offset + 0.0F;
  }
}

void sweep_group_reference(const GroupToSweep& group, const SweptGroup& result) noexcept {
  for (std::size_t r = 0; r < group.gradient.cols(); ++r) sweep_lane(group, result, r);
}

void sum_levels_reference(const LevelsToSum& group, const LevelSums& sums) noexcept {
  const std::size_t d = group.codewords->numbers();
  const std::size_t g = group.hessian.rows();
  for (std::size_t r = 0; r < group.gradient.cols(); ++r) {
    std::array<float, kMaxFitGroup> u{};
    for (std::size_t i = 0; i < g; ++i) {
      u[i] = group.codewords->words()[static_cast<std::size_t>(group.codes(i / d, r)) * d + i % d];
    }
    std::array<float, 4> sum{};
    for (std::size_t l = 0; l < g; ++l) {
      float product = 0;
      for (std::size_t i = 0; i < g; ++i) {
        const float term = u[i] * group.hessian(l, i);
        product += term;
      }
      const float terms[] = {u[l] * group.gradient(l, r), group.gradient(l, r), u[l] * product,
                             product};
      for (std::size_t t = 0; t < 4; ++t) sum[t] += terms[t];
    }
    sums.level_gradient[r] = sum[0];
    sums.gradient[r] = sum[1];
    sums.level_norm[r] = sum[2];
    sums.level_sum[r] = sum[3];
  }
}

}  // namespace halftone::kernels
