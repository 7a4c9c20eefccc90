// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/group_metric.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/base/error.h"
#include "halftone/compress/fit/algebra.h"

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

/// The power of two that brings the mean of a diagonal to [1/2, 1), and that mean; 1 and 1 if all
/// is zero.
struct Unit {
  double scale = 1;
  double mean = 1;
};

Unit unit_of(const Vector& diagonal) {
  const double mean =
      diagonal.size() == 0 ? 0 : sum_of(diagonal) / static_cast<double>(diagonal.size());
  if (!(mean > 0)) return {};
  int exponent = 0;
  const double fraction = std::frexp(mean, &exponent);
  return {std::ldexp(1.0, -exponent), fraction};
}

/// The diagonal of H from that of the scaled moments.
double damped_moment(double moment, double mean, const Damping& damping) {
  const double damped = moment + damping.channel * moment + damping.uniform * mean;
  return damped > 0 ? damped : mean;
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

void copy_floats(const Matrix& from, std::span<float> to) {
  for (Eigen::Index i = 0; i < from.size(); ++i) {
    to[static_cast<std::size_t>(i)] = static_cast<float>(from.data()[i]);
  }
}

}  // namespace

GroupMetric::GroupMetric(std::size_t inputs, bool is_diagonal)
    : inputs_(inputs),
      is_diagonal_(is_diagonal),
      hessian_((is_diagonal ? 1 : inputs) * inputs * sizeof(float)),
      factor_(hessian_.size_bytes()) {}

template <typename T>
GroupMetric GroupMetric::damped(MatrixView<const T> moments, const Damping& damping) {
  check_damping(damping);
  check_moments(moments);
  GroupMetric metric(moments.rows(), false);
  Matrix hessian = symmetric_from_upper(moments);
  const Unit unit = unit_of(hessian.diagonal());
  hessian *= unit.scale;
  for (double& each : hessian.diagonal()) each = damped_moment(each, unit.mean, damping);
  copy_floats(hessian, metric.hessian_.as<float>());
  copy_floats(inverse_factor(hessian), metric.factor_.as<float>());
  return metric;
}

GroupMetric GroupMetric::of(MatrixView<const float> moments, const Damping& damping) {
  return damped(moments, damping);
}

GroupMetric GroupMetric::of(MatrixView<const double> moments, const Damping& damping) {
  return damped(moments, damping);
}

GroupMetric GroupMetric::diagonal(std::span<const float> moments, const Damping& damping) {
  check_damping(damping);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    check_moments(MatrixView<const float>(moments.data() + i, 1, 1, 1));
  }
  GroupMetric metric(moments.size(), true);
  Vector diagonal(static_cast<Eigen::Index>(moments.size()));
  std::ranges::copy(moments, diagonal.data());
  const Unit unit = unit_of(diagonal);
  for (std::size_t i = 0; i < moments.size(); ++i) {
    const double h =
        damped_moment(static_cast<double>(moments[i]) * unit.scale, unit.mean, damping);
    metric.hessian_.as<float>()[i] = static_cast<float>(h);
    metric.factor_.as<float>()[i] = static_cast<float>(1 / std::sqrt(h));
  }
  return metric;
}

GroupMetric GroupMetric::identity(std::size_t inputs) {
  const std::vector<float> ones(inputs, 1.0F);
  return diagonal(ones, {.channel = 0, .uniform = 0});
}

}  // namespace halftone::compress
