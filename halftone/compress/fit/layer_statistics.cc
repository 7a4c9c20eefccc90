// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/layer_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <memory>
#include <span>
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

template <typename T>
Eigen::Map<const Eigen::VectorX<T>> as_vector(std::span<const T> numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
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

LayerStatistics::Builder::Builder(std::size_t num_inputs) : sums_(num_inputs) {
  for (Run* input : {&actual_, &original_}) {
    input->rows.resize(kRunRows * num_inputs);
    input->products.resize(num_inputs * num_inputs);
    input->size.resize(static_cast<Eigen::Index>(num_inputs));
  }
}

void LayerStatistics::Builder::add(MatrixView<const float> actual,
                                   MatrixView<const float> original) {
  const auto n = static_cast<std::size_t>(sums_.num_inputs());
  HALFTONE_ASSERT(actual.rows() == original.rows() && actual.cols() == n && original.cols() == n);
  for (std::size_t r = 0; r < actual.rows(); ++r) {
    std::ranges::copy(actual.row(r), actual_.rows.data() + num_rows_ * n);
    std::ranges::copy(original.row(r), original_.rows.data() + num_rows_ * n);
    if (++num_rows_ == kRunRows) end_run();
  }
}

LayerStatistics LayerStatistics::Builder::finish() {
  if (num_rows_ > 0) end_run();
  return std::move(sums_);
}

void LayerStatistics::Builder::Run::find_centre(MatrixView<const float> run) {
  std::vector<double> sums(run.cols());
  for (std::size_t r = 0; r < run.rows(); ++r) {
    std::ranges::transform(sums, run.row(r), sums.begin(), std::plus<double>());
  }
  for (const double total : sums) {
    centre.push_back(static_cast<float>(total / static_cast<double>(run.rows())));
  }
}

void LayerStatistics::Builder::Run::scale_deviations(MatrixView<float> run) {
  const std::size_t n = run.cols();
  std::vector<float> largest(n);
  for (std::size_t r = 0; r < run.rows(); ++r) {
    const std::span<float> row = run.row(r);
    for (std::size_t c = 0; c < n; ++c) {
      row[c] -= centre[c];
      largest[c] = std::max(largest[c], std::abs(row[c]));
    }
  }
  std::vector<float> scale(n);
  for (std::size_t c = 0; c < n; ++c) {
    const int exponent = largest[c] > 0 ? std::clamp(std::ilogb(largest[c]), -126, 126) : 0;
    scale[c] = std::ldexp(1.0F, -exponent);
    size[static_cast<Eigen::Index>(c)] = std::ldexp(1.0, exponent);
  }
  std::vector<double> sums(n);
  for (std::size_t r = 0; r < run.rows(); ++r) {
    const std::span<float> row = run.row(r);
    for (std::size_t c = 0; c < n; ++c) {
      row[c] *= scale[c];
      sums[c] += double{row[c]};
    }
  }
  sum = as_vector<double>(sums).cwiseProduct(size);
}

void LayerStatistics::Builder::end_run() {
  const auto n = static_cast<std::size_t>(sums_.num_inputs());
  const auto rows_of = [&](Run& input) {
    return MatrixView<float>(input.rows.data(), num_rows_, n, n);
  };
  const auto products_of = [&](Run& input) { return MatrixView<float>(input.products, n, n); };
  for (Run* input : {&actual_, &original_}) {
    if (input->centre.empty()) input->find_centre(rows_of(*input));
    input->scale_deviations(rows_of(*input));
  }
  const auto multiply = [&](Run& input, kernels::Region region) {
    kernels::matmul(kernels::transposed(rows_of(actual_)), rows_of(input), products_of(input),
                    kernels::Update::kAssign, region);
  };
  parallel_for(2, [&](std::size_t i) {
    if (i == 0) multiply(actual_, kernels::Region::kUpper);
    if (i == 1) multiply(original_, kernels::Region::kAll);
  });
  const auto count = static_cast<double>(num_rows_);
  const Vector a = as_vector<float>(actual_.centre).cast<double>();
  const Vector b = as_vector<float>(original_.centre).cast<double>();
  const Vector a_sum = actual_.sum + count * a;
  for (Eigen::Index i = 0; i < a.size(); ++i) {
    const auto products = [&](Run& input) {
      const auto row = products_of(input).row(static_cast<std::size_t>(i));
      const Vector sums = as_vector<float>(row).cast<double>();
      return Vector(actual_.size[i] * sums.cwiseProduct(input.size));
    };
    const Eigen::Index right = a.size() - i;  // on the diagonal and right of it
    sums_.actual_products_.row(i).tail(right) +=
        (products(actual_) + a[i] * actual_.sum + a_sum[i] * a).tail(right).transpose();
    sums_.cross_products_.row(i) +=
        (products(original_) + a[i] * original_.sum + a_sum[i] * b).transpose();
  }
  sums_.actual_sum_ += a_sum;
  sums_.original_sum_ += original_.sum + count * b;
  sums_.count_ += num_rows_;
  num_rows_ = 0;
}

}  // namespace halftone::compress
