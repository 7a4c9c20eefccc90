// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <vector>

#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::kernels {
namespace {

/// acc of one output after all its groups, before the scale.
float level_dot(std::span<const std::int8_t> q, const numerics::BitPlanes& w, std::size_t row,
                const numerics::MatrixEncoding& encoding) {
  const std::size_t groups = encoding.groups_per_row(w.cols);
  const std::size_t width =
      encoding.granularity == numerics::Granularity::kGroup ? encoding.group_size : w.cols;
  const int steps = encoding.weight_steps();
  float acc = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const LevelGrid grid = weight_grid(encoding.levels(row, g, w.cols));
    const std::size_t begin = g * width;
    const std::size_t end = std::min(begin + width, w.cols);
    std::int32_t p = 0;
    std::int32_t sum = 0;
    for (std::size_t i = begin; i < end; ++i) {
      p += (2 * grid.u[w.code(row, i)] - steps) * q[i];
      sum += q[i];
    }
    acc += grid.half_step * static_cast<float>(p);
    if (!encoding.is_centred()) acc += grid.center * static_cast<float>(sum);
  }
  return acc;
}

/// @param dot  of a row of integers and the weights of an output
template <typename Dot>
void multiply(const Dot& dot, const Int8Rows& x, std::span<const float> bias, MatrixView<float> y) {
  const std::vector<std::int8_t> ones(x.q.cols(), 1);
  for (std::size_t r = 0; r < x.q.rows(); ++r) {
    for (std::size_t o = 0; o < y.cols(); ++o) {
      y(r, o) = dot(x.q.row(r), o) * x.scales[r];
      if (x.offset != 0) y(r, o) += x.offset * dot(ones, o);
      if (!bias.empty()) y(r, o) += bias[o];
    }
  }
}

}  // namespace

void level_matmul_reference(const Int8Rows& x, const numerics::BitPlanes& w,
                            const numerics::MatrixEncoding& w_encoding, std::span<const float> bias,
                            MatrixView<float> y) {
  const auto dot = [&](std::span<const std::int8_t> q, std::size_t output) {
    return level_dot(q, w, output, w_encoding);
  };
  multiply(dot, x, bias, y);
}

}  // namespace halftone::kernels
