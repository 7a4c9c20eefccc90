// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/weight_fit.h"

#include <algorithm>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/code_search.h"
#include "halftone/compress/fit/vector_fit.h"

namespace halftone::compress {
namespace {

using Index = Eigen::Index;

/// Rows that are processed together, so that a row of H or U is read once for all of them.
constexpr std::size_t kRowsAtOnce = 16;
constexpr Index kColumnsAtOnce = 64;

constexpr int kMaxVectorSweeps = 8;

/// The mean of the diagonal, or 1 for a layer whose inputs are always zero.
double mean_second_moment(const Matrix& hessian) {
  const double mean =
      hessian.size() == 0 ? 0 : sum_of(hessian.diagonal()) / static_cast<double>(hessian.rows());
  return mean > 0 ? mean : 1;
}

/// Fitting a layer as a least-squares problem for each of its rows.
struct Problem {
  Matrix original;  ///< [o, n] w
  Matrix target;    ///< [o, n] the levels that would match the float layer's output best
  Matrix hessian;   ///< [n, n] H with its ridge
  Matrix goal;      ///< [o, n] w*' H for the target w*
  Matrix factor;    ///< [n, n] see inverse_factor(); empty where neither step needs it
  std::vector<float> input_weights;  ///< [n] of step 1; empty: all alike
};

/// @throws Error kShape if the statistics are of another n
Problem make_problem(MatrixView<const float> weights, const LayerStatistics& statistics,
                     const WeightFitOptions& options) {
  if (static_cast<std::size_t>(statistics.num_inputs()) != weights.cols()) {
    fail(ErrorKind::kShape, "calibration statistics: expected " + std::to_string(weights.cols()) +
                                " inputs, found " + std::to_string(statistics.num_inputs()));
  }
  Problem problem;
  problem.original = to_matrix(weights);
  problem.target = problem.original;
  Matrix& hessian = problem.hessian = statistics.hessian(options.bias_correction);
  const Vector second_moments = hessian.diagonal();
  if (options.input_weighted && second_moments.maxCoeff() > 0) {
    problem.input_weights.assign(second_moments.begin(), second_moments.end());
  }
  const double damping = options.damping * mean_second_moment(hessian);
  hessian.diagonal().array() += damping;
  if (options.refine || options.error_feedback) problem.factor = inverse_factor(hessian);
  if (options.refine) {
    const Matrix cross = statistics.cross(options.bias_correction);
    problem.goal = multiply(view_of(problem.original), kernels::transposed(view_of(cross)));
    problem.goal += damping * problem.original;
    // w*' = goal H^-1 = (goal U') U.
    const Matrix half =
        multiply(view_of(problem.goal), kernels::transposed(view_of(problem.factor)));
    problem.target = multiply(view_of(half), view_of(problem.factor));
  }
  return problem;
}

/// Some rows of a problem on their way to codes.
class RowsFit {
 public:
  RowsFit(const Problem& problem, const WeightFormat& format, RowRange rows,
          const WeightFitOptions& options)
      : problem_(problem),
        rows_(rows),
        options_(options),
        target_(rows_of(problem.target)),
        search_(format, rows.count, static_cast<std::size_t>(target_.cols())) {}

  [[nodiscard]] RowFit run() {
    if (search_.encoding().granularity == numerics::Granularity::kTensor) {
      fit_shared_levels();
    } else {
      fit_blocks();
    }
    if (options_.error_feedback) {
      encode_with_feedback();
    } else {
      encode_nearest();
    }
    if (options_.refine) {
      search_.refine(problem_.hessian, rows_of(problem_.goal), options_.refine_sweeps);
    }
    return search_.result();
  }

 private:
  [[nodiscard]] Matrix rows_of(const Matrix& all) const {
    return all.middleRows(static_cast<Index>(rows_.first), static_cast<Index>(rows_.count));
  }

  [[nodiscard]] numerics::Levels fit(std::size_t block, std::span<const double> target,
                                     std::span<const float> weights) const {
    const std::vector<float> values(target.begin(), target.end());
    const ParameterSpace space = search_.space().of_block(block);
    return fit_levels(space, values, {}, weights, options_.levels).levels;
  }

  /// Step 1 where all rows are one block.
  void fit_shared_levels() {
    std::vector<float> weights;
    for (std::size_t r = 0; r < rows_.count; ++r) {
      weights.insert(weights.end(), problem_.input_weights.begin(), problem_.input_weights.end());
    }
    search_.set_levels(0,
                       fit(0, {target_.data(), static_cast<std::size_t>(target_.size())}, weights));
  }

  /// Step 1: levels for every block of the target.
  void fit_blocks() {
    const auto cols = static_cast<std::size_t>(target_.cols());
    for (std::size_t row = 0; row < rows_.count; ++row) {
      const std::span<const double> numbers(target_.data() + row * cols, cols);
      for (const RowBlock& block : search_.blocks_of_row(row)) {
        std::span<const float> weights = problem_.input_weights;
        if (!weights.empty()) weights = weights.subspan(block.first_col, block.num_cols);
        search_.set_levels(
            block.block,
            fit(block.block, numbers.subspan(block.first_col, block.num_cols), weights));
      }
    }
  }

  /// Step 2, a few rows at a time. The errors of a column are added to the remaining columns of its
  /// block at once, and to the columns behind the block after the block. In both cases the order of
  /// the sums is that of the columns.
  void encode_with_feedback() {
    parallel_for((rows_.count + kRowsAtOnce - 1) / kRowsAtOnce, [&](std::size_t b) {
      const std::size_t first = b * kRowsAtOnce;
      encode_with_feedback({first, std::min(kRowsAtOnce, rows_.count - first)});
    });
  }

  void encode_with_feedback(RowRange rows) {
    const Matrix& u = problem_.factor;
    const auto first = static_cast<Index>(rows.first);
    Matrix work = target_.middleRows(first, static_cast<Index>(rows.count));
    Matrix errors(work.rows(), kColumnsAtOnce);
    for (Index begin = 0; begin < work.cols(); begin += kColumnsAtOnce) {
      const Index end = std::min(begin + kColumnsAtOnce, work.cols());
      for (Index k = begin; k < end; ++k) {
        const Index rest = end - k - 1;
        for (Index r = 0; r < work.rows(); ++r) {
          const double error = (work(r, k) - encode(first + r, k, work(r, k))) / u(k, k);
          work.row(r).segment(k + 1, rest) -= error * u.row(k).segment(k + 1, rest);
          errors(r, k - begin) = error;
        }
      }
      const auto count = static_cast<std::size_t>(end - begin);
      const auto left = static_cast<std::size_t>(work.cols() - end);
      const auto at = static_cast<std::size_t>(end);
      const MatrixView<double> all = view_of(work);
      kernels::matmul(columns_of(errors, 0, count),
                      columns_of(u, at, left).rows_from(static_cast<std::size_t>(begin), count),
                      {all.data_handle() + at, rows.count, left, all.stride()},
                      kernels::Update::kSubtract);
    }
  }

  void encode_nearest() {
    for (Index r = 0; r < target_.rows(); ++r) {
      for (Index k = 0; k < target_.cols(); ++k) encode(r, k, target_(r, k));
    }
  }

  double encode(Index row, Index col, double x) {
    return search_.encode(static_cast<std::size_t>(row), static_cast<std::size_t>(col), x);
  }

  const Problem& problem_;
  const RowRange rows_;
  const WeightFitOptions& options_;
  Matrix target_;
  CodeSearch search_;
};

/// Maximum rows of a range: fewer if devices would otherwise be idle.
std::size_t max_rows(std::size_t rows) {
  constexpr std::size_t kRanges = 8;
  return std::clamp<std::size_t>(rows / kRanges, 1, kRowsAtOnce);
}

/// The metric of a problem with the steps that run.
GroupMetric metric_of(const Problem& problem, const WeightFitOptions& options) {
  constexpr Damping kNone{0, 0};  // the ridge is in H
  if (options.error_feedback || options.refine) {
    return GroupMetric::of(view_of(problem.hessian), kNone);
  }
  if (problem.input_weights.empty()) {
    return GroupMetric::identity(static_cast<std::size_t>(problem.hessian.rows()));
  }
  return GroupMetric::diagonal(problem.input_weights, kNone);
}

/// Vectors of all rows.
/// @param problems  of rows in equal shares
RowFit fit_vector_rows(std::span<const Problem> problems, const WeightFormat& format,
                       const WeightFitOptions& options) {
  std::vector<float> targets;
  std::vector<GroupMetric> metrics;
  for (const Problem& problem : problems) {
    targets.insert(targets.end(), problem.target.data(),
                   problem.target.data() + problem.target.size());
    metrics.push_back(metric_of(problem, options));
  }
  const auto cols = static_cast<std::size_t>(problems.front().target.cols());
  GroupFitOptions how;
  how.feedback = options.error_feedback;
  how.sweeps = options.refine ? std::min(options.refine_sweeps, kMaxVectorSweeps) : 0;
  return fit_vectors({targets, targets.size() / cols, cols}, format, metrics, how);
}

}  // namespace

WeightFit fit_weights(MatrixView<const float> weights, const WeightFormat& format,
                      const LayerStatistics& statistics, const WeightFitOptions& options,
                      const spmd::Devices& devices) {
  return fit_grouped_weights(weights, format, std::span(&statistics, 1), options, devices);
}

Vector mean_output_error(MatrixView<const float> weights, MatrixView<const float> encoded,
                         const LayerStatistics& statistics) {
  return multiply(to_matrix(weights), statistics.original_mean()) -
         multiply(to_matrix(encoded), statistics.actual_mean());
}

WeightFit fit_grouped_weights(MatrixView<const float> weights, const WeightFormat& wanted,
                              std::span<const LayerStatistics> statistics,
                              const WeightFitOptions& options, const spmd::Devices& devices) {
  if (statistics.size() > 1 && wanted.granularity == numerics::Granularity::kTensor) {
    LayerStatistics sum = statistics.front();
    for (const LayerStatistics& group : statistics.subspan(1)) sum.add(group);
    return fit_weights(weights, wanted, sum, options, devices);
  }
  const bool are_vectors = wanted.system->vectors != nullptr;
  const WeightFormat format = are_vectors ? wanted : with_factors(wanted, weights);
  const std::size_t rows = weights.rows();
  const std::size_t share = rows / statistics.size();
  std::vector<Problem> problems(statistics.size());
  parallel_for(problems.size(), [&](std::size_t g) {
    problems[g] = make_problem(weights.rows_from(g * share, share), statistics[g], options);
  });
  const auto fit_range = [&](const RowRange& range) {
    const std::size_t g = range.first / share;
    const RowRange within{range.first - g * share, range.count};
    const WeightFormat own = of_rows(format, range, weights.cols());
    return RowsFit(problems[g], own, within, options).run();
  };
  WeightFit result{
      are_vectors ? fit_vector_rows(problems, format, options)
                  : fit_ranges(format, weights.cols(),
                               row_ranges(format, rows, share, max_rows(rows)), devices, fit_range),
      Vector::Zero(static_cast<Index>(rows))};
  if (options.bias_correction) {
    const std::vector<float> values = numerics::decode(result.codes, result.encoding);
    const MatrixView<const float> encoded(values, rows, weights.cols());
    for (std::size_t g = 0; g < statistics.size(); ++g) {
      result.bias_correction.segment(static_cast<Index>(g * share), static_cast<Index>(share)) =
          mean_output_error(weights.rows_from(g * share, share),
                            encoded.rows_from(g * share, share), statistics[g]);
    }
  }
  return result;
}

}  // namespace halftone::compress
