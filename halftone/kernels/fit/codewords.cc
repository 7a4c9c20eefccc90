// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/fit/codewords.h"

#include <algorithm>
#include <utility>

namespace halftone::kernels {
namespace {

/// See Codewords::step().
float step_of(std::span<const float> levels) {
  if (levels.size() < 2) return 0;
  const float first = levels[0];
  const float step = levels[1] - first;
  for (std::size_t k = 0; k < levels.size(); ++k) {
    const float offset = static_cast<float>(k) * step;
    if (levels[k] != first + offset) return 0;
  }
  return step > 0 ? step : 0;
}

}  // namespace

Codewords::Codewords(std::span<const float> words, std::size_t d)
    : d_(d),
      words_(words.begin(), words.end()),
      least_(*std::ranges::min_element(words)),
      largest_(*std::ranges::max_element(words)),
      step_(d == 1 ? step_of(words) : 0),
      half_squares_(words.size() / d) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const float half = words[i] * words[i] / 2;
    half_squares_[i / d] += half;
  }
}

CodeMetric::CodeMetric(std::vector<float> gram_of_blocks, const Codewords& codewords)
    : gram(std::move(gram_of_blocks)) {
  if (codewords.step() > 0) return;
  const std::size_t d = codewords.numbers();
  const std::size_t n = codewords.count();
  const std::size_t blocks = gram.size() / (d * d);
  norms.resize(blocks * n);
  for (std::size_t b = 0; b < blocks; ++b) {
    const float* const g = gram.data() + b * d * d;
    for (std::size_t k = 0; k < n; ++k) {
      const float* const c = codewords.words() + k * d;
      double norm = 0;
      for (std::size_t p = 0; p < d; ++p) {
        for (std::size_t q = 0; q < d; ++q) {
          norm += static_cast<double>(c[p]) * static_cast<double>(g[p * d + q]) *
                  static_cast<double>(c[q]);
        }
      }
      norms[b * n + k] = static_cast<float>(norm / 2);
    }
  }
}

}  // namespace halftone::kernels
