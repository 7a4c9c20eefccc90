// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/metric.h"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::compress {
namespace {

template <typename T>
void check_moments(MatrixView<const T> moments) {
  if (moments.rows() != moments.cols()) {
    fail(ErrorKind::kShape, "second moments of a layer's inputs: expected a square matrix, found " +
                                std::to_string(moments.rows()) + " x " +
                                std::to_string(moments.cols()));
  }
  for (std::size_t i = 0; i < moments.rows(); ++i) {
    const auto upper = moments.row(i).subspan(i);
    if (!std::ranges::all_of(upper, [](T x) { return std::isfinite(x); })) {
      fail(ErrorKind::kUnsupported, "second moments of a layer's inputs: those of input " +
                                        std::to_string(i) + " are not finite");
    }
    if (upper.front() < 0) {
      fail(ErrorKind::kUnsupported, "second moments of a layer's inputs: that of input " +
                                        std::to_string(i) + " is negative");
    }
  }
}

/// What moments are multiplied by, and the mean of their diagonal then; 1 and 1 if all is zero.
struct Unit {
  double scale = 1;
  double mean = 1;
};

/// In float32 the power of two that brings the mean to [1/2, 1).
template <typename T>
Unit unit_of(const Vector& diagonal) {
  const double mean =
      diagonal.size() == 0 ? 0 : sum_of(diagonal) / static_cast<double>(diagonal.size());
  if (!(mean > 0)) return {};
  if constexpr (std::same_as<T, double>) return {1, mean};
  int exponent = 0;
  const double fraction = std::frexp(mean, &exponent);
  return {std::ldexp(1.0, -exponent), fraction};
}

/// An element of the diagonal of H, from that of the scaled moments.
double damped_moment(double moment, double mean, const Damping& damping) {
  const double damped = moment + damping.channel * moment + damping.uniform * mean;
  return damped > 0 ? damped : mean;
}

/// The same of D.
double ridge_of(double moment, double mean, const Damping& damping) {
  const double ridge = damping.channel * moment + damping.uniform * mean;
  return moment + ridge > 0 ? ridge : mean - moment;
}

void check_damping(const Damping& damping) {
  const auto is_right = [](double x) { return std::isfinite(x) && x >= 0; };
  if (!is_right(damping.channel) || !is_right(damping.uniform)) {
    fail(ErrorKind::kUsage, "damping of second moments: expected finite numbers of at least 0");
  }
}

template <typename T>
Matrix symmetric_from_upper(MatrixView<const T> upper) {
  const auto n = static_cast<Eigen::Index>(upper.rows());
  Matrix all(n, n);
  for (Eigen::Index i = 0; i < n; ++i) {
    for (Eigen::Index j = i; j < n; ++j) {
      const auto x =
          static_cast<double>(upper(static_cast<std::size_t>(i), static_cast<std::size_t>(j)));
      all(i, j) = x;
      all(j, i) = x;
    }
  }
  return all;
}

/// Empty if none is above zero.
std::vector<float> floats_of(const Vector& moments) {
  if (moments.size() == 0 || !(moments.maxCoeff() > 0)) return {};
  const Vector positive = moments.cwiseMax(0);
  return {positive.begin(), positive.end()};
}

/// The same numbers, moved if they are float64.
template <typename T>
auto in_numbers(Matrix&& from) {
  if constexpr (std::same_as<T, double>) {
    return std::move(from);
  } else {
    return from.cast<T>().eval();
  }
}

}  // namespace

template <typename T>
Metric<T> Metric<T>::of(Matrix moments, const Damping& damping) {
  check_damping(damping);
  Metric metric;
  metric.moments_ = floats_of(moments.diagonal());
  const Unit unit = unit_of<T>(moments.diagonal());
  if (unit.scale != 1) moments *= unit.scale;
  metric.ridge_ = moments.diagonal();
  for (double& each : metric.ridge_) each = ridge_of(each, unit.mean, damping);
  for (double& each : moments.diagonal()) each = damped_moment(each, unit.mean, damping);
  metric.factor_ = in_numbers<T>(inverse_factor(moments));
  metric.hessian_ = in_numbers<T>(std::move(moments));
  return metric;
}

template <typename T>
Metric<T> Metric<T>::of(MatrixView<const float> moments, const Damping& damping) {
  check_moments(moments);
  return of(symmetric_from_upper(moments), damping);
}

template <typename T>
Metric<T> Metric<T>::of(MatrixView<const double> moments, const Damping& damping) {
  check_moments(moments);
  return of(symmetric_from_upper(moments), damping);
}

template <typename T>
Metric<T> Metric<T>::diagonal(std::span<const float> moments, const Damping& damping) {
  check_damping(damping);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    check_moments(MatrixView<const float>(moments.data() + i, 1, 1, 1));
  }
  Vector diagonal(static_cast<Eigen::Index>(moments.size()));
  std::ranges::copy(moments, diagonal.data());
  const Unit unit = unit_of<T>(diagonal);
  Metric metric;
  metric.is_diagonal_ = true;
  metric.moments_ = floats_of(diagonal);
  metric.hessian_.resize(1, diagonal.size());
  metric.factor_.resize(1, diagonal.size());
  for (Eigen::Index i = 0; i < diagonal.size(); ++i) {
    const double h = damped_moment(diagonal[i] * unit.scale, unit.mean, damping);
    metric.hessian_(0, i) = static_cast<T>(h);
    metric.factor_(0, i) = static_cast<T>(1 / std::sqrt(h));
  }
  return metric;
}

template <typename T>
Metric<T> Metric<T>::identity(std::size_t inputs) {
  const std::vector<float> ones(inputs, 1.0F);
  Metric metric = diagonal(ones, {.channel = 0, .uniform = 0});
  metric.moments_.clear();
  return metric;
}

template <typename T>
void Metric<T>::check_columns(std::size_t cols) const {
  if (inputs() == cols) return;
  fail(ErrorKind::kShape, "fit of weights: the weights have " + std::to_string(cols) +
                              " columns, the metric " + std::to_string(inputs()) + " inputs");
}

template class Metric<float>;
template class Metric<double>;

FitTarget target_of(const Metric<double>& metric, MatrixView<const float> weights) {
  metric.check_columns(weights.cols());
  FitTarget target{to_matrix(weights), {}};
  if (metric.is_diagonal()) return target;
  if (metric.cross_.size() == 0) {
    target.product = multiply(view_of(target.weights), metric.hessian());
    return target;
  }
  target.product = multiply(view_of(target.weights), kernels::transposed(view_of(metric.cross_)));
  target.product += target.weights * metric.ridge_.asDiagonal();
  // w*' = (H w*)' H^-1 = (H w*)' U' U.
  const Matrix half = multiply(view_of(target.product), kernels::transposed(metric.factor()));
  target.weights = multiply(view_of(half), metric.factor());
  return target;
}

}  // namespace halftone::compress
