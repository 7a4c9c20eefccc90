// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/layer_statistics.h"

#include <memory>
#include <utility>

#include "halftone/base/parallel.h"

namespace halftone::compress {
namespace {

/// The elements of a matrix or vector in memory order, without a copy.
template <typename T>
spmd::Array array_of(T numbers, spmd::Shape shape) {
  const auto kept = std::make_shared<const T>(std::move(numbers));
  return spmd::Array::wrap<double>(
      std::move(shape), std::span(kept->data(), static_cast<std::size_t>(kept->size())), kept);
}

template <typename T>
T numbers_of(const spmd::Array& array, Eigen::Index rows, Eigen::Index cols) {
  return Eigen::Map<const T>(array.as<double>().data(), rows, cols);
}

/// Subtracts a b' from a matrix.
void subtract_outer(const Vector& a, const Vector& b, Matrix& from) {
  for (Eigen::Index r = 0; r < from.rows(); ++r) from.row(r) -= a[r] * b.transpose();
}

}  // namespace

LayerStatistics::LayerStatistics(const Sums& sums)
    : count_(static_cast<std::size_t>(sums.count.item<std::int64_t>())) {
  const auto n = static_cast<Eigen::Index>(sums.actual.size());
  actual_sum_ = numbers_of<Vector>(sums.actual, n, 1);
  original_sum_ = numbers_of<Vector>(sums.original, n, 1);
  actual_products_ = numbers_of<Matrix>(sums.actual_products, n, n);
  cross_products_ = numbers_of<Matrix>(sums.cross_products, n, n);
}

LayerStatistics::Sums LayerStatistics::take_sums() {
  const auto n = static_cast<std::int64_t>(num_inputs());
  return {spmd::Array::scalar(static_cast<std::int64_t>(count_)),
          array_of(std::move(actual_sum_), {n}), array_of(std::move(original_sum_), {n}),
          array_of(std::move(actual_products_), {n, n}),
          array_of(std::move(cross_products_), {n, n})};
}

LayerStatistics::LayerStatistics(std::size_t num_inputs) {
  const auto n = static_cast<Eigen::Index>(num_inputs);
  actual_sum_ = Vector::Zero(n);
  original_sum_ = Vector::Zero(n);
  actual_products_ = Matrix::Zero(n, n);
  cross_products_ = Matrix::Zero(n, n);
}

void LayerStatistics::add(MatrixView<const float> actual, MatrixView<const float> original) {
  HALFTONE_ASSERT(actual.rows() == original.rows() && actual.cols() == original.cols());
  const Matrix q = to_matrix(actual);
  const Matrix x = to_matrix(original);
  for (Eigen::Index r = 0; r < q.rows(); ++r) {
    actual_sum_ += q.row(r).transpose();
    original_sum_ += x.row(r).transpose();
  }
  using kernels::Region;
  using kernels::Update;
  parallel_for(2, [&](std::size_t product) {
    if (product == 0) {
      kernels::matmul(kernels::transposed(view_of(q)), view_of(q), view_of(actual_products_),
                      Update::kAdd, Region::kUpper);
    } else {
      kernels::matmul(kernels::transposed(view_of(q)), view_of(x), view_of(cross_products_),
                      Update::kAdd);
    }
  });
  count_ += actual.rows();
}

void LayerStatistics::add(const LayerStatistics& other) {
  HALFTONE_ASSERT(num_inputs() == other.num_inputs());
  count_ += other.count_;
  actual_sum_ += other.actual_sum_;
  original_sum_ += other.original_sum_;
  actual_products_ += other.actual_products_;
  cross_products_ += other.cross_products_;
}

Matrix LayerStatistics::hessian(bool centred) const {
  Matrix result = actual_products_ / divisor();
  for (Eigen::Index r = 0; r < result.rows(); ++r) {
    for (Eigen::Index c = 0; c < r; ++c) result(r, c) = result(c, r);
  }
  if (centred) subtract_outer(actual_mean(), actual_mean(), result);
  return result;
}

Matrix LayerStatistics::cross(bool centred) const {
  Matrix result = cross_products_ / divisor();
  if (centred) subtract_outer(actual_mean(), original_mean(), result);
  return result;
}

}  // namespace halftone::compress
