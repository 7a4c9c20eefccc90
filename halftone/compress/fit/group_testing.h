// SPDX-License-Identifier: Apache-2.0
// For tests of fits in groups: grids of files, and layers from fixed seeds.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/compress/fit/group_grid.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::compress {

/// A grid and the name of the file type that stores it.
struct NamedGrid {
  std::string name;
  GroupGrid grid;
};

/// Levels first, first + 1, ..., last.
inline std::vector<float> integer_levels(int first, int last) {
  std::vector<float> levels;
  for (int i = first; i <= last; ++i) levels.push_back(static_cast<float>(i));
  return levels;
}

/// float16 scales.
inline GroupGrid half_grid(std::vector<float> levels, std::size_t group, bool has_offsets = false) {
  GroupGrid grid;
  grid.codewords = std::move(levels);
  grid.group = group;
  grid.has_offsets = has_offsets;
  return grid;
}

/// Integer scales of blocks of 256; with offsets unless scales have a sign.
inline GroupGrid integer_grid(std::vector<float> levels, std::size_t group, int min_scale,
                              int max_scale) {
  GroupGrid grid = half_grid(std::move(levels), group, min_scale == 0);
  grid.scales = GroupGrid::kIntegers;
  grid.share = 256;
  grid.min_scale = min_scale;
  grid.max_scale = max_scale;
  grid.max_offset = min_scale == 0 ? max_scale : 0;
  return grid;
}

/// d weights that share D signs b: codewords P b for a matrix P of integers.
inline GroupGrid vector_grid(std::size_t d, std::size_t signs) {
  Random random(20);
  std::vector<int> matrix(d * signs);
  for (int& p : matrix) {
    p = static_cast<int>(random.below(2 * 127 / signs)) - static_cast<int>(127 / signs);
  }
  GroupGrid grid;
  grid.vector = d;
  grid.group = 64;
  grid.scales = GroupGrid::kE3m5;
  for (std::size_t code = 0; code < std::size_t{1} << signs; ++code) {
    for (std::size_t i = 0; i < d; ++i) {
      int sum = 0;
      for (std::size_t s = 0; s < signs; ++s) {
        sum += (code >> s & 1) != 0 ? matrix[i * signs + s] : -matrix[i * signs + s];
      }
      grid.codewords.push_back(static_cast<float>(sum));
    }
  }
  return grid;
}

/// One of each kind that files have.
inline std::vector<NamedGrid> grids_of_files() {
  const std::vector<float> table = {-127, -104, -83, -65, -49, -35, -22, -10,
                                    1,    13,   25,  38,  53,  69,  89,  113};
  return {{"Q4_0", half_grid(integer_levels(-8, 7), 32)},
          {"Q4_1", half_grid(integer_levels(0, 15), 32, true)},
          {"Q5_0", half_grid(integer_levels(-16, 15), 32)},
          {"Q5_1", half_grid(integer_levels(0, 31), 32, true)},
          {"Q8_0", half_grid(integer_levels(-127, 127), 32)},
          {"IQ4_NL", half_grid(table, 32)},
          {"Q1_0", half_grid({-1, 1}, 128)},
          {"Q2_0", half_grid(integer_levels(-1, 2), 64)},
          {"TQ2_0", half_grid(integer_levels(-1, 1), 256)},
          {"Q2_K", integer_grid(integer_levels(0, 3), 16, 0, 15)},
          {"Q3_K", integer_grid(integer_levels(-4, 3), 16, -32, 31)},
          {"Q4_K", integer_grid(integer_levels(0, 15), 32, 0, 63)},
          {"Q5_K", integer_grid(integer_levels(0, 31), 32, 0, 63)},
          {"Q6_K", integer_grid(integer_levels(-32, 31), 16, -128, 127)},
          {"4x8", vector_grid(4, 8)},
          {"2x6", vector_grid(2, 6)},
          {"1x3", vector_grid(1, 3)}};
}

/// Weights [outputs, inputs] with some far from the others, and second moments [inputs, inputs] of
/// correlated inputs, a few of which are far larger. By operations that round in one way
/// everywhere.
struct TestLayer {
  TestLayer(std::size_t num_outputs, std::size_t num_inputs, std::uint64_t seed = 1)
      : outputs(num_outputs),
        inputs(num_inputs),
        weights(num_outputs * num_inputs),
        moments(num_inputs * num_inputs) {
    Random random(seed);
    for (float& w : weights) w = bell(random) * (random.below(50) == 0 ? 0.2F : 0.05F);
    const std::size_t rows = 2 * inputs;
    std::vector<float> x(rows * inputs);
    for (std::size_t r = 0; r < rows; ++r) {
      float before = 0;
      for (std::size_t i = 0; i < inputs; ++i) {
        before = bell(random) + 0.7F * before;
        x[r * inputs + i] = before * (i % 37 == 5 ? 8.0F : 1.0F);
      }
    }
    const MatrixView<const float> all(x, rows, inputs);
    kernels::matmul(kernels::transposed(all), all, MatrixView<float>(moments, inputs, inputs));
  }

  [[nodiscard]] MatrixView<const float> w() const { return {weights, outputs, inputs}; }
  [[nodiscard]] MatrixView<const float> m() const { return {moments, inputs, inputs}; }

  static float bell(Random& random) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += random.uniform();
    return static_cast<float>(sum);
  }

  std::size_t outputs;
  std::size_t inputs;
  std::vector<float> weights;
  std::vector<float> moments;
};

/// The weights that a fit represents.
inline std::vector<float> decoded(const GroupFit& fit, const GroupGrid& grid) {
  std::vector<float> values(fit.rows * fit.cols);
  decode(fit, grid, MatrixView<float>(values, fit.rows, fit.cols));
  return values;
}

}  // namespace halftone::compress
