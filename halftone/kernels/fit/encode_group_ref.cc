// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "halftone/kernels/fit/encode_group.h"
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

}  // namespace halftone::kernels
