// SPDX-License-Identifier: Apache-2.0
// For tests of fits in groups: codes of files, and layers from fixed seeds.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/compress/fit/fitted_groups.h"
#include "halftone/kernels/dense/matmul.h"
#include "halftone/numerics/system_encoding.h"
#include "halftone/numerics/vector_basis.h"

namespace halftone::compress {

/// Codes and the name of the file type that stores them.
struct NamedGrid {
  std::string name;
  GroupCodes grid;
};

/// float16 scales.
inline GroupCodes half_codes(const numerics::CodeLevels& levels, std::size_t group,
                             bool has_offsets = false) {
  return {.levels = levels, .group = group, .has_offsets = has_offsets};
}

/// Integer scales of blocks of 256; with offsets unless scales have a sign.
inline GroupCodes integer_codes(const numerics::CodeLevels& levels, std::size_t group,
                                int min_scale, int max_scale) {
  return {.levels = levels,
          .group = group,
          .has_offsets = min_scale == 0,
          .scales = GroupScales::kHalfTimesByte,
          .share = 256,
          .min_scale = min_scale,
          .max_scale = max_scale,
          .max_offset = min_scale == 0 ? max_scale : 0};
}

/// Codes of a shipped vector basis.
inline GroupCodes vector_codes(std::string_view rate) {
  return {.group = 64,
          .scales = GroupScales::kE3m5,
          .basis = numerics::shipped_vector_basis(rate).get()};
}

/// One of each kind that files have.
inline std::vector<NamedGrid> grids_of_files() {
  constexpr std::array<std::int8_t, 16> kCurved = {-127, -104, -83, -65, -49, -35, -22, -10,
                                                   1,    13,   25,  38,  53,  69,  89,  113};
  constexpr std::array<std::int8_t, 16> kE2m1 = {0, 1,  2,  3,  4,  6,  8,  12,
                                                 0, -1, -2, -3, -4, -6, -8, -12};
  GroupCodes small = half_codes({3, -4}, 64);
  small.scales = GroupScales::kE3m5;
  GroupCodes powers = half_codes({4, 0, kE2m1}, 32);
  powers.scales = GroupScales::kPowerOfTwo;
  return {{"Q4_0", half_codes({4, -8}, 32)},
          {"Q4_1", half_codes({4, 0}, 32, true)},
          {"Q5_0", half_codes({5, -16}, 32)},
          {"Q5_1", half_codes({5, 0}, 32, true)},
          {"Q8_0", half_codes({8, -128}, 32)},
          {"IQ4_NL", half_codes({4, 0, kCurved}, 32)},
          {"Q1_0", half_codes({1, -1}, 128)},
          {"Q2_0", half_codes({2, -1}, 64)},
          {"TQ2_0", half_codes({2, -1}, 256)},
          {"Q2_K", integer_codes({2, 0}, 16, 0, 15)},
          {"Q3_K", integer_codes({3, -4}, 16, -32, 31)},
          {"Q4_K", integer_codes({4, 0}, 32, 0, 63)},
          {"Q5_K", integer_codes({5, 0}, 32, 0, 63)},
          {"Q6_K", integer_codes({6, -32}, 16, -128, 127)},
          {"4x8", vector_codes("4x8")},
          {"2x6", vector_codes("2x6")},
          {"ThreeBitsE3m5", small},
          {"MXFP4", powers},
          {"nvfp4", *numerics::system_encoding("nvfp4")},
          {"nf4", *numerics::system_encoding("nf4")},
          {"e4m3", *numerics::system_encoding("e4m3")},
          {"affine3", *numerics::system_encoding("affine3")},
          {"affine_k2", *numerics::system_encoding("affine_k2")}};
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
inline std::vector<float> decoded(const GroupFit& fit, const GroupCodes& grid) {
  std::vector<float> values(fit.rows * fit.cols);
  decode(fit, grid, MatrixView<float>(values, fit.rows, fit.cols));
  return values;
}

}  // namespace halftone::compress
