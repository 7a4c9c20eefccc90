// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/weight_fit.h"

#include <Eigen/Cholesky>
#include <algorithm>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/code_search.h"

namespace halftone::compress {
namespace {

using Index = Eigen::Index;

/// Rows are worked on in blocks of this many, so that a row of H or U is read once for all of them.
constexpr std::size_t kRowBlock = 16;

Matrix to_matrix(MatrixView<const float> view) {
  Matrix result(static_cast<Index>(view.rows()), static_cast<Index>(view.cols()));
  for (std::size_t r = 0; r < view.rows(); ++r) {
    for (std::size_t c = 0; c < view.cols(); ++c) {
      result(static_cast<Index>(r), static_cast<Index>(c)) = view(r, c);
    }
  }
  return result;
}

/// The mean of the diagonal, or 1 for a layer whose inputs are always zero.
double mean_second_moment(const Matrix& hessian) {
  const double mean = hessian.size() == 0 ? 0 : hessian.diagonal().mean();
  return mean > 0 ? mean : 1;
}

/// Step 1: a basis for every block of the target.
void fit_blocks(CodeSearch& search, const Matrix& target, const Vector& input_weights,
                const WeightFitOptions& options) {
  const std::vector<float> column_weights(input_weights.data(),
                                          input_weights.data() + input_weights.size());
  const auto fit = [&](const std::vector<float>& values, const std::vector<float>& weights) {
    return fit_basis(search.space(), values, {}, weights, options.basis).basis;
  };
  if (search.encoding().granularity == numerics::Granularity::kTensor) {
    std::vector<float> values(static_cast<std::size_t>(target.size()));
    std::copy(target.data(), target.data() + target.size(), values.begin());
    std::vector<float> weights;
    for (Index r = 0; r < target.rows() && !column_weights.empty(); ++r) {
      weights.insert(weights.end(), column_weights.begin(), column_weights.end());
    }
    search.set_basis(0, fit(values, weights));
    return;
  }
  const auto cols = static_cast<std::size_t>(target.cols());
  parallel_for(static_cast<std::size_t>(target.rows()), [&](std::size_t row) {
    for (const Block& block : search.blocks_of_row(row)) {
      const double* first = target.data() + row * cols + block.first_col;
      const std::vector<float> values(first, first + block.num_cols);
      std::vector<float> weights;
      if (!column_weights.empty()) {
        const auto begin = column_weights.begin() + static_cast<std::ptrdiff_t>(block.first_col);
        weights.assign(begin, begin + static_cast<std::ptrdiff_t>(block.num_cols));
      }
      search.set_basis(block.basis, fit(values, weights));
    }
  });
}

/// U with H^-1 = U' U, upper triangular.
Matrix inverse_factor(const Matrix& hessian) {
  const Matrix inverse = hessian.llt().solve(Matrix::Identity(hessian.rows(), hessian.cols()));
  return inverse.llt().matrixU();
}

/// Step 2. `work` holds a block of rows of the target and is used up.
void encode_with_feedback(CodeSearch& search, std::size_t first_row, Matrix work, const Matrix& u) {
  const Index cols = work.cols();
  for (Index k = 0; k < cols; ++k) {
    const Index rest = cols - k - 1;
    for (Index r = 0; r < work.rows(); ++r) {
      const double level = search.encode(first_row + static_cast<std::size_t>(r),
                                         static_cast<std::size_t>(k), work(r, k));
      const double error = (work(r, k) - level) / u(k, k);
      work.row(r).tail(rest) -= error * u.row(k).tail(rest);
    }
  }
}

void encode_rows(CodeSearch& search, const Matrix& target, const Matrix& hessian,
                 bool error_feedback) {
  const Matrix u = error_feedback ? inverse_factor(hessian) : Matrix();
  const auto rows = static_cast<std::size_t>(target.rows());
  parallel_for((rows + kRowBlock - 1) / kRowBlock, [&](std::size_t b) {
    const std::size_t first = b * kRowBlock;
    const std::size_t count = std::min(kRowBlock, rows - first);
    const Matrix block = target.middleRows(static_cast<Index>(first), static_cast<Index>(count));
    if (error_feedback) {
      encode_with_feedback(search, first, block, u);
      return;
    }
    for (Index r = 0; r < block.rows(); ++r) {
      for (Index k = 0; k < block.cols(); ++k) {
        search.encode(first + static_cast<std::size_t>(r), static_cast<std::size_t>(k),
                      block(r, k));
      }
    }
  });
}

/// The fits of neighbouring rows as one.
WeightFit joined(std::span<const WeightFit> parts, std::size_t rows, std::size_t cols) {
  WeightFit whole;
  whole.encoding = parts.front().encoding;
  whole.encoding.bases.clear();
  whole.codes = numerics::BitPlanes(rows, cols, whole.encoding.bits);
  whole.bias_correction = Vector(static_cast<Index>(rows));
  std::size_t row = 0;
  for (const WeightFit& part : parts) {
    const auto& bases = part.encoding.bases;
    whole.encoding.bases.insert(whole.encoding.bases.end(), bases.begin(), bases.end());
    whole.bias_correction.segment(static_cast<Index>(row), part.bias_correction.size()) =
        part.bias_correction;
    const auto words = part.codes.planes.words();
    const std::size_t first_word = whole.codes.plane(row, 0) * whole.codes.planes.row_words();
    std::ranges::copy(words, whole.codes.planes.words().subspan(first_word).begin());
    row += part.codes.rows;
  }
  return whole;
}

}  // namespace

WeightFit fit_weights(MatrixView<const float> weights, const WeightFormat& format,
                      const LayerStatistics& statistics, const WeightFitOptions& options) {
  if (static_cast<std::size_t>(statistics.num_inputs()) != weights.cols()) {
    fail(ErrorKind::kShape, "calibration statistics: expected " + std::to_string(weights.cols()) +
                                " inputs, found " + std::to_string(statistics.num_inputs()));
  }
  const Matrix original = to_matrix(weights);
  Matrix hessian = statistics.hessian(options.bias_correction);
  const double damping = options.damping * mean_second_moment(hessian);
  const Vector second_moments = options.input_weighted ? Vector(hessian.diagonal()) : Vector();
  hessian.diagonal().array() += damping;
  Matrix goal = original * hessian;  // [o, n]: w' H for the target w
  Matrix target = original;
  if (options.refine) {
    goal.noalias() = original * statistics.cross(options.bias_correction).transpose();
    goal += damping * original;
    target = hessian.llt().solve(goal.transpose()).transpose();
  }

  CodeSearch search(format, weights.rows(), weights.cols());
  const bool weighted = options.input_weighted && second_moments.maxCoeff() > 0;
  fit_blocks(search, target, weighted ? second_moments : Vector(), options);
  encode_rows(search, target, hessian, options.error_feedback);
  if (options.refine) search.refine(hessian, goal, options.refine_sweeps);

  WeightFit result{search.encoding(), search.codes(), Vector::Zero(original.rows())};
  if (options.bias_correction) {
    result.bias_correction =
        original * statistics.original_mean() - search.values() * statistics.actual_mean();
  }
  return result;
}

Vector mean_output_error(MatrixView<const float> weights, MatrixView<const float> encoded,
                         const LayerStatistics& statistics) {
  return to_matrix(weights) * statistics.original_mean() -
         to_matrix(encoded) * statistics.actual_mean();
}

WeightFit fit_grouped_weights(MatrixView<const float> weights, const WeightFormat& format,
                              std::span<const LayerStatistics> statistics,
                              const WeightFitOptions& options) {
  const bool is_shared = format.granularity == numerics::Granularity::kTensor;
  if (statistics.size() == 1 || is_shared) {
    LayerStatistics sum = statistics.front();
    for (const LayerStatistics& group : statistics.subspan(1)) sum.add(group);
    return fit_weights(weights, format, sum, options);
  }
  const std::size_t share = weights.rows() / statistics.size();
  std::vector<WeightFit> parts(statistics.size());
  parallel_for(parts.size(), [&](std::size_t g) {
    parts[g] = fit_weights(weights.rows_from(g * share, share), format, statistics[g], options);
  });
  return joined(parts, weights.rows(), weights.cols());
}

}  // namespace halftone::compress
