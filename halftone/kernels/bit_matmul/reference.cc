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

void bit_matmul_reference(const numerics::BitPlanes& x, const numerics::Basis& x_basis,
                          const numerics::BitPlanes& w, const numerics::BasisEncoding& w_encoding,
                          std::span<const float> bias, MatrixView<float> y) {
  const std::size_t n = x.cols;
  for (std::size_t r = 0; r < x.rows; ++r) {
    for (std::size_t o = 0; o < w.rows; ++o) {
      const numerics::Basis& w_basis = w_encoding.basis(o, 0, n);
      float acc = 0;
      for (int i = 0; i < x.bits; ++i) {
        for (int j = 0; j < w.bits; ++j) {
          const float a =
              x_basis.a()[static_cast<std::size_t>(i)] * w_basis.a()[static_cast<std::size_t>(j)];
          acc += a * dot(x.planes.row(x.plane(r, i)), w.planes.row(w.plane(o, j)), n);
        }
      }
      if (w_encoding.has_offset) {
        acc +=
            w_basis.offset * (weighted_sum(x, r, x_basis) + static_cast<float>(n) * x_basis.offset);
      }
      if (x_basis.offset != 0) acc += x_basis.offset * weighted_sum(w, o, w_basis);
      if (!bias.empty()) acc += bias[o];
      y(r, o) = acc;
    }
  }
}

}  // namespace halftone::kernels
