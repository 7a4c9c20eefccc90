// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/group_error.h"

#include <algorithm>
#include <numeric>
#include <string>

#include "halftone/base/buffer.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kErrorRows = 96;

void check_same_shape(MatrixView<const float> weights, MatrixView<const float> values,
                      MatrixView<const float> moments) {
  const std::size_t n = weights.cols();
  const bool fits = moments.size() == 0 || (moments.rows() == n && moments.cols() == n);
  if (values.rows() != weights.rows() || values.cols() != n || !fits) {
    const auto text = [](MatrixView<const float> matrix) {
      return std::to_string(matrix.rows()) + " x " + std::to_string(matrix.cols());
    };
    fail(ErrorKind::kShape, "errors of outputs: weights are " + text(weights) + ", values " +
                                text(values) + ", second moments " + text(moments));
  }
}

/// x' M x for each of up to kErrorRows rows.
void squared_norms(MatrixView<const float> x, MatrixView<const float> moments,
                   std::span<double> norms) {
  AlignedBuffer products(moments.size() == 0 ? 0 : x.rows() * x.cols() * sizeof(float));
  MatrixView<const float> y = x;
  if (moments.size() != 0) {
    const MatrixView<float> to(products.as<float>().data(), x.rows(), x.cols(), x.cols());
    kernels::matmul(x, moments, to);
    y = to;
  }
  for (std::size_t r = 0; r < x.rows(); ++r) {
    double sum = 0;
    for (std::size_t c = 0; c < x.cols(); ++c) {
      sum += static_cast<double>(x(r, c)) * static_cast<double>(y(r, c));
    }
    norms[r] = sum;
  }
}

/// x' M x for each row of a matrix [rows, n] whose blocks `fill(first, block)` computes.
template <typename Fill>
std::vector<double> squared_norms_of(std::size_t rows, std::size_t n,
                                     MatrixView<const float> moments, const Fill& fill) {
  std::vector<double> norms(rows);
  parallel_for((rows + kErrorRows - 1) / kErrorRows, [&](std::size_t b) {
    const std::size_t first = b * kErrorRows;
    const std::size_t count = std::min(kErrorRows, rows - first);
    AlignedBuffer buffer(count * n * sizeof(float));
    const MatrixView<float> block(buffer.as<float>().data(), count, n, n);
    for (std::size_t r = 0; r < count; ++r) fill(first + r, block.row(r));
    squared_norms(block, moments, std::span(norms).subspan(first, count));
  });
  return norms;
}

double sum_of_all(const std::vector<double>& numbers) {
  return std::accumulate(numbers.begin(), numbers.end(), 0.0);
}

}  // namespace

std::vector<double> output_errors(MatrixView<const float> weights, MatrixView<const float> values,
                                  MatrixView<const float> moments) {
  check_same_shape(weights, values, moments);
  return squared_norms_of(weights.rows(), weights.cols(), moments,
                          [&](std::size_t r, std::span<float> error) {
                            for (std::size_t c = 0; c < error.size(); ++c)
                              error[c] = weights(r, c) - values(r, c);
                          });
}

double relative_output_error(MatrixView<const float> weights, MatrixView<const float> values,
                             MatrixView<const float> moments) {
  const double error = sum_of_all(output_errors(weights, values, moments));
  const double size = sum_of_all(squared_norms_of(weights.rows(), weights.cols(), moments,
                                                  [&](std::size_t r, std::span<float> row) {
                                                    std::ranges::copy(weights.row(r), row.begin());
                                                  }));
  return error == 0 ? 0 : error / size;
}

double predicted_loss(std::span<const double> errors, std::span<const double> sensitivities) {
  const std::size_t count = sensitivities.size();
  if (count == 0 || errors.size() % count != 0) {
    fail(ErrorKind::kShape, "predicted loss: " + std::to_string(errors.size()) + " errors and " +
                                std::to_string(count) + " sensitivities");
  }
  double sum = 0;
  for (std::size_t o = 0; o < errors.size(); ++o) sum += sensitivities[o % count] * errors[o];
  return sum / 2;
}

}  // namespace halftone::compress
