// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "halftone/kernels/fit/nearest_ref.h"
#include "halftone/kernels/fit/search_scales.h"

namespace halftone::kernels {
namespace {

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

}  // namespace

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

}  // namespace halftone::kernels
