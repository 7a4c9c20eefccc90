// SPDX-License-Identifier: Apache-2.0
// Fits of the number systems of networks; group_rows.cc has those of groups.
#include "halftone/compress/fit/fit_matrix.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/fit/code_search.h"
#include "halftone/kernels/fit/codewords.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::compress {
namespace {

constexpr int kMaxVectorSweeps = 8;

/// Maximum rows of a range: fewer if devices would otherwise be idle.
std::size_t max_rows(std::size_t rows) {
  constexpr std::size_t kRanges = 8;
  constexpr std::size_t kMaxRows = 16;
  return std::clamp<std::size_t>(rows / kRanges, 1, kMaxRows);
}

/// Rows whose blocks learn levels.
MatrixFit fit_rows(const FitTarget& target, const Metric<double>& metric,
                   const WeightFormat& format, const MatrixFitOptions& options) {
  CodeSearch search(format, static_cast<std::size_t>(target.weights.rows()), metric.inputs());
  search.fit_blocks(view_of(target.weights),
                    options.input_weighted ? std::span(metric.moments()) : std::span<const float>(),
                    options.levels);
  const bool spreads = options.feedback && !metric.is_diagonal();
  search.encode(view_of(target.weights), spreads ? metric.factor() : MatrixView<const double>());
  if (options.refine && !metric.is_diagonal()) {
    search.refine(metric.hessian(), view_of(target.product), options.refine_sweeps);
  }
  return search.result();
}

/// The metric of groups, without damping once more.
Metric<float> in_floats(const Metric<double>& metric) {
  constexpr Damping kNone{0, 0};
  if (!metric.is_diagonal()) return Metric<float>::of(metric.hessian(), kNone);
  if (metric.moments().empty()) return Metric<float>::identity(metric.inputs());
  return Metric<float>::diagonal(metric.moments(), kNone);
}

/// Fits of groups of rows in equal shares, with one factor, as the codes of numbers.
MatrixFit join(std::span<const GroupFit> fits, const WeightFormat& format,
               const GroupCodes& groups) {
  std::vector<std::uint16_t> vectors;
  std::vector<float> scales;
  std::size_t rows = 0;
  for (const GroupFit& fit : fits) {
    vectors.insert(vectors.end(), fit.codes.begin(), fit.codes.end());
    scales.insert(scales.end(), fit.scales.begin(), fit.scales.end());
    rows += fit.rows;
  }
  const std::size_t cols = fits.front().cols;
  MatrixFit result{numerics::empty_encoding(*format.system, format.bits,
                                            {format.granularity, format.group_size}, rows, cols),
                   numerics::planes_of_vectors(vectors, *groups.basis, rows, cols)};
  const float factor = fits.front().scale_factors[0];
  result.encoding.scales.set_factor(0, factor);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    result.encoding.scales.set(i, double{factor} * double{scales[i]});
  }
  return result;
}

MatrixFit fit_vectors(MatrixView<const float> weights, std::span<const Metric<double>> metrics,
                      const WeightFormat& format, const MatrixFitOptions& options) {
  const GroupCodes groups = vector_groups(format);
  const std::size_t share = weights.rows() / metrics.size();
  std::vector<std::vector<float>> changed(metrics.size());
  std::vector<MatrixView<const float>> targets(metrics.size());
  MatrixFitOptions own = options;
  own.sweeps = std::min(options.refine_sweeps, kMaxVectorSweeps);
  own.factor = numerics::least_scale(numerics::NumberType::kFloat32);
  for (std::size_t g = 0; g < metrics.size(); ++g) {
    targets[g] = weights.rows_from(g * share, share);
    if (!metrics[g].is_diagonal()) {
      const Matrix target = target_of(metrics[g], targets[g]).weights;
      changed[g].assign(target.data(), target.data() + target.size());
      targets[g] = {changed[g], share, weights.cols()};
    }
    own.factor = std::max(own.factor, scale_factor_of(targets[g], groups, options));
  }
  std::vector<GroupFit> fits(metrics.size());
  parallel_for(fits.size(), [&](std::size_t g) {
    fits[g] = fit_matrix(targets[g], in_floats(metrics[g]), groups, own);
  });
  return join(fits, format, groups);
}

}  // namespace

GroupCodes vector_groups(const WeightFormat& format) {
  const numerics::VectorBasis& basis = *format.system->vectors;
  const auto d = static_cast<std::size_t>(basis.numbers());
  const auto expect = [&](bool holds, const std::string& expected, const std::string& found) {
    if (holds) return;
    fail(ErrorKind::kUsage,
         "scheme " + basis.rate() + ": expected " + expected + ", found " + found);
  };
  expect(format.granularity == numerics::Granularity::kGroup, "granularity group",
         std::string(to_string(format.granularity)));
  expect(format.group_size % d == 0 && format.group_size <= kernels::kMaxFitGroup,
         "a group size that is a multiple of " + std::to_string(d) + ", at most " +
             std::to_string(kernels::kMaxFitGroup),
         std::to_string(format.group_size));
  GroupCodes codes;
  codes.group = format.group_size;
  codes.scales = GroupScales::kE3m5;
  codes.basis = &basis;
  return codes;
}

MatrixFit fit_matrix(MatrixView<const float> weights, std::span<const Metric<double>> metrics,
                     const WeightFormat& wanted, const MatrixFitOptions& options,
                     const spmd::Devices& devices) {
  if (wanted.system->vectors != nullptr) return fit_vectors(weights, metrics, wanted, options);
  const std::size_t rows = weights.rows();
  const std::size_t share = rows / metrics.size();
  std::vector<FitTarget> targets(metrics.size());
  parallel_for(targets.size(), [&](std::size_t g) {
    // A diagonal metric may be that of a large table, and has no other target than the weights.
    if (metrics[g].is_diagonal()) return metrics[g].check_columns(weights.cols());
    targets[g] = target_of(metrics[g], weights.rows_from(g * share, share));
  });
  const WeightFormat format = with_factors(wanted, weights);
  const auto fit_range = [&](const RowRange& range) {
    const std::size_t g = range.first / share;
    const auto first = static_cast<Eigen::Index>(range.first - g * share);
    const auto count = static_cast<Eigen::Index>(range.count);
    const FitTarget target =
        metrics[g].is_diagonal()
            ? FitTarget{to_matrix(weights.rows_from(range.first, range.count)), {}}
            : FitTarget{targets[g].weights.middleRows(first, count),
                        targets[g].product.middleRows(first, count)};
    return fit_rows(target, metrics[g], of_rows(format, range, weights.cols()), options);
  };
  return fit_ranges(format, weights.cols(), row_ranges(format, rows, share, max_rows(rows)),
                    devices, fit_range);
}

}  // namespace halftone::compress
