// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "halftone/kernels/fit/nearest_ref.h"
#include "halftone/kernels/fit/sweep_group.h"

namespace halftone::kernels {
namespace {

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
