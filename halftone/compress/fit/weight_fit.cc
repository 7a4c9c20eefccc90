// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/weight_fit.h"

#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"

namespace halftone::compress {
namespace {

/// @throws Error kShape if the statistics are not of n inputs
Metric<double> metric_of(const LayerStatistics& statistics, std::size_t n,
                         const MatrixFitOptions& options) {
  if (static_cast<std::size_t>(statistics.num_inputs()) != n) {
    fail(ErrorKind::kShape, "calibration statistics: expected " + std::to_string(n) +
                                " inputs, found " + std::to_string(statistics.num_inputs()));
  }
  Matrix hessian = statistics.hessian(options.bias_correction);
  if (options.feedback || options.refine) {
    auto metric = Metric<double>::of(std::move(hessian), options.damping);
    if (options.refine) metric.set_cross(statistics.cross(options.bias_correction));
    return metric;
  }
  const Vector moments = hessian.diagonal().cwiseMax(0);
  if (!options.input_weighted || !(moments.maxCoeff() > 0)) return Metric<double>::identity(n);
  return Metric<double>::diagonal(std::vector<float>(moments.begin(), moments.end()), {0, 0});
}

}  // namespace

Vector mean_output_error(MatrixView<const float> weights, MatrixView<const float> encoded,
                         const LayerStatistics& statistics) {
  return multiply(to_matrix(weights), statistics.original_mean()) -
         multiply(to_matrix(encoded), statistics.actual_mean());
}

MatrixFit fit_to_statistics(MatrixView<const float> weights, const WeightFormat& format,
                            std::span<const LayerStatistics> statistics,
                            const MatrixFitOptions& options, const spmd::Devices& devices) {
  if (statistics.size() > 1 && format.granularity == numerics::Granularity::kTensor) {
    LayerStatistics sum = statistics.front();
    for (const LayerStatistics& group : statistics.subspan(1)) sum.add(group);
    return fit_to_statistics(weights, format, std::span(&sum, 1), options, devices);
  }
  std::vector<Metric<double>> metrics(statistics.size());
  parallel_for(metrics.size(), [&](std::size_t g) {
    metrics[g] = metric_of(statistics[g], weights.cols(), options);
  });
  MatrixFit result = fit_matrix(weights, metrics, format, options, devices);
  result.bias_correction = Vector::Zero(static_cast<Eigen::Index>(weights.rows()));
  if (!options.bias_correction) return result;
  const std::vector<float> values = numerics::decode(result.codes, result.encoding);
  const MatrixView<const float> encoded(values, weights.rows(), weights.cols());
  const std::size_t share = weights.rows() / statistics.size();
  for (std::size_t g = 0; g < statistics.size(); ++g) {
    result.bias_correction.segment(static_cast<Eigen::Index>(g * share),
                                   static_cast<Eigen::Index>(share)) =
        mean_output_error(weights.rows_from(g * share, share), encoded.rows_from(g * share, share),
                          statistics[g]);
  }
  return result;
}

}  // namespace halftone::compress
