// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <vector>

#include "halftone/kernels/encode/levels.h"

namespace halftone::kernels {

void round_to_levels_reference(std::span<const float> x, const numerics::LevelTable& table,
                               std::span<float> y) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = table.nearest(x[i]);
}

void sum_by_level_reference(std::span<const float> x, std::span<const float> v,
                            const numerics::LevelTable& table, std::span<double> sums) noexcept {
  constexpr std::size_t kRun = 4096;
  std::ranges::fill(sums, 0.0);
  for (std::size_t begin = 0; begin < x.size(); begin += kRun) {
    std::vector<std::array<float, 16>> partial(table.size());
    for (std::size_t i = begin; i < std::min(begin + kRun, x.size()); ++i) {
      partial[table.index(x[i])][(i - begin) % 16] += v[i];
    }
    for (std::size_t level = 0; level < table.size(); ++level) {
      for (std::size_t h = 8; h != 0; h /= 2) {
        for (std::size_t l = 0; l < h; ++l) partial[level][l] += partial[level][l + h];
      }
      sums[level] += partial[level][0];
    }
  }
}

void pass_between_reference(std::span<const float> x, float low, float high,
                            std::span<const float> g, std::span<float> y) noexcept {
  for (std::size_t i = 0; i < x.size(); ++i) y[i] = x[i] >= low && x[i] <= high ? g[i] : 0.0F;
}

}  // namespace halftone::kernels
