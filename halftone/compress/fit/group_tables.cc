// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/group_tables.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace halftone::compress {
namespace {

/// A block of the diagonal of a matrix [n, n] or [1, n], padded with zeros.
std::vector<float> diagonal_block(MatrixView<const float> matrix, bool is_diagonal,
                                  const GroupColumns& columns) {
  const std::size_t g = columns.count * columns.streams;
  std::vector<float> block(g * g);
  const std::size_t count = std::min(columns.count, matrix.cols() - columns.first);
  for (std::size_t i = 0; i < count; ++i) {
    for (std::size_t j = 0; j < count; ++j) {
      if (is_diagonal && i != j) continue;
      const float x = matrix(is_diagonal ? 0 : columns.first + i, columns.first + j);
      for (std::size_t s = 0; s < columns.streams; ++s) {
        block[(i * columns.streams + s) * g + j * columns.streams + s] = x;
      }
    }
  }
  return block;
}

std::vector<float> factor_of_diagonal(const std::vector<float>& hessian, std::size_t g) {
  std::vector<float> factor(g * g);
  for (std::size_t i = 0; i < g; ++i) {
    const double h = static_cast<double>(hessian[i * g + i]);
    factor[i * g + i] = h > 0 ? static_cast<float>(1 / std::sqrt(h)) : 0;
  }
  return factor;
}

/// The inverses of the upper triangular blocks [d, d] on the diagonal; zero where U is.
std::vector<float> inverse_blocks(const std::vector<float>& factor, std::size_t g, std::size_t d) {
  std::vector<float> inverse(g * d);
  for (std::size_t i = 0; i < g; i += d) {
    const auto u = [&](std::size_t p, std::size_t q) {
      return static_cast<double>(factor[(i + p) * g + i + q]);
    };
    double m[4][4] = {};
    for (std::size_t q = 0; q < d && u(q, q) > 0; ++q) {
      m[q][q] = 1 / u(q, q);
      for (std::size_t p = q; p-- > 0;) {
        double sum = 0;
        for (std::size_t k = p + 1; k <= q; ++k) sum += u(p, k) * m[k][q];
        m[p][q] = -sum / u(p, p);
      }
    }
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t q = 0; q < d; ++q) inverse[(i + p) * d + q] = static_cast<float>(m[p][q]);
    }
  }
  return inverse;
}

/// M M' of each block.
std::vector<float> gram_of_inverses(const std::vector<float>& inverse, std::size_t d) {
  std::vector<float> gram(inverse.size());
  for (std::size_t b = 0; b < inverse.size(); b += d * d) {
    for (std::size_t p = 0; p < d; ++p) {
      for (std::size_t q = 0; q < d; ++q) {
        double sum = 0;
        for (std::size_t k = std::max(p, q); k < d; ++k) {
          sum += static_cast<double>(inverse[b + p * d + k]) *
                 static_cast<double>(inverse[b + q * d + k]);
        }
        gram[b + p * d + q] = static_cast<float>(sum);
      }
    }
  }
  return gram;
}

/// The blocks [d, d] on the diagonal of a matrix [g, g].
std::vector<float> blocks_of(const std::vector<float>& matrix, std::size_t g, std::size_t d) {
  std::vector<float> blocks(g * d);
  for (std::size_t i = 0; i < g; ++i) {
    std::copy_n(matrix.data() + i * g + i / d * d, d, blocks.data() + i * d);
  }
  return blocks;
}

}  // namespace

GroupTables tables_of_group(const Metric<float>& metric, const kernels::Codewords& codewords,
                            const GroupColumns& columns, bool feedback) {
  const std::size_t d = codewords.numbers();
  const std::size_t g = columns.count * columns.streams;
  std::vector<float> hessian = diagonal_block(metric.hessian(), metric.is_diagonal(), columns);
  std::vector<float> factor = feedback
                                  ? diagonal_block(metric.factor(), metric.is_diagonal(), columns)
                                  : factor_of_diagonal(hessian, g);
  std::vector<float> inverse = inverse_blocks(factor, g, d);
  kernels::CodeMetric encoding(gram_of_inverses(inverse, d), codewords);
  kernels::CodeMetric sweeping(blocks_of(hessian, g, d), codewords);
  std::vector<float> reciprocals(g);
  std::vector<float> importance(g);
  for (std::size_t i = 0; i < g; ++i) {
    const float h = hessian[i * g + i];
    const float u = factor[i * g + i];
    reciprocals[i] = h > 0 ? 1 / h : 0;
    importance[i] = u > 0 ? 1 / (u * u) : 0;
  }
  const auto total = static_cast<float>(std::accumulate(hessian.begin(), hessian.end(), 0.0));
  return {std::move(factor),      std::move(inverse),    std::move(hessian),
          std::move(reciprocals), std::move(importance), total,
          std::move(encoding),    std::move(sweeping)};
}

}  // namespace halftone::compress
