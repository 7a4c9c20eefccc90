// SPDX-License-Identifier: Apache-2.0
#include <bit>

#include "halftone/kernels/bit_matmul/bit_matmul.h"

namespace halftone::kernels {
namespace {

/// n - 2 popcount(a xor b): the dot product of two rows of +-1.
float dot(std::span<const std::uint64_t> a, std::span<const std::uint64_t> b, std::size_t n) {
  std::int64_t differences = 0;
  for (std::size_t w = 0; w < a.size(); ++w) differences += std::popcount(a[w] ^ b[w]);
  return static_cast<float>(static_cast<std::int64_t>(n) - 2 * differences);
}

/// 2 popcount(a) - n: the sum of a row of +-1.
float plane_sum(std::span<const std::uint64_t> a, std::size_t n) {
  std::int64_t ones = 0;
  for (const std::uint64_t word : a) ones += std::popcount(word);
  return static_cast<float>(2 * ones - static_cast<std::int64_t>(n));
}

/// sum_i a_i S_i over the planes of a row.
float weighted_sum(const numerics::BitPlanes& codes, std::size_t row,
                   const numerics::Basis& basis) {
  float sum = 0;
  for (int i = 0; i < codes.bits; ++i) {
    sum += basis.a()[static_cast<std::size_t>(i)] *
           plane_sum(codes.planes.row(codes.plane(row, i)), codes.cols);
  }
  return sum;
}

}  // namespace

void bit_matmul_reference(const EncodedInputs& inputs, const EncodedWeights& weights,
                          MatrixView<float> y) {
  const auto& [x, basis] = inputs;
  const numerics::BitPlanes& w = weights.codes;
  const std::size_t n = x.cols;
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t o = 0; o < w.rows; ++o) {
      const numerics::Basis w_basis = weights.encoding.basis(o, 0, n);
      float acc = 0;
      for (int i = 0; i < x.bits; ++i) {
        for (int j = 0; j < w.bits; ++j) {
          const float a =
              basis.a()[static_cast<std::size_t>(i)] * w_basis.a()[static_cast<std::size_t>(j)];
          acc += a * dot(x.planes.row(x.plane(r, i)), w.planes.row(w.plane(o, j)), n);
        }
      }
      if (!weights.encoding.is_centred()) {
        acc += w_basis.offset * (weighted_sum(x, r, basis) + static_cast<float>(n) * basis.offset);
      }
      if (basis.offset != 0) acc += basis.offset * weighted_sum(w, o, w_basis);
      if (!weights.bias.empty()) acc += weights.bias[o];
      y(r, o) = acc;
    }
  }
}

}  // namespace halftone::kernels
