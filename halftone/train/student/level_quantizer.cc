// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/level_quantizer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <span>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

using compress::Matrix;
using compress::Vector;
using Eigen::Index;

at::TensorOptions float_options() { return at::TensorOptions(at::kFloat); }

at::Tensor to_tensor(const Matrix& matrix) {
  return at::from_blob(const_cast<double*>(matrix.data()), {matrix.rows(), matrix.cols()},
                       at::TensorOptions(at::kDouble))
      .to(at::kFloat);
}

/// The parameters that come nearest to a basis: least squares over its levels.
Vector parameters_near(const compress::ParameterSpace& space, const numerics::Basis& basis) {
  const Matrix& features = space.features();
  Vector levels(features.rows());
  for (Index code = 0; code < levels.size(); ++code) {
    levels[code] = basis.value(static_cast<numerics::Code>(code));
  }
  return compress::solve_ridge(features.transpose() * features, features.transpose() * levels, 0);
}

}  // namespace

LevelQuantizer::LevelQuantizer(compress::ParameterSpace space,
                               const std::vector<numerics::Basis>& bases,
                               const LevelQuantizerOptions& options)
    : space_(std::move(space)), options_(options), features_(to_tensor(space_.features())) {
  HALFTONE_ASSERT(!bases.empty());
  Matrix start(static_cast<Index>(bases.size()), space_.size());
  for (std::size_t b = 0; b < bases.size(); ++b) {
    start.row(static_cast<Index>(b)) = parameters_near(space_, bases[b]).transpose();
  }
  parameters_ = to_tensor(start).clone();
  parameters_.set_requires_grad(options_.rule == LevelRule::kGradient);
  refresh();
}

void LevelQuantizer::refresh() {
  const at::Tensor numbers = parameters_.detach().to(at::kDouble).contiguous();
  const std::size_t num_levels = std::size_t{1} << space_.bits();
  const auto rows = static_cast<std::int64_t>(num_bases());
  const auto cols = static_cast<std::int64_t>(num_levels);
  levels_ = at::empty({rows, cols}, float_options());
  order_ = at::empty({rows, cols}, at::TensorOptions(at::kLong));
  thresholds_ = at::empty({rows, cols - 1}, float_options());
  reach_ = at::empty({2, rows, 1}, float_options());
  bases_.clear();
  for (std::size_t b = 0; b < num_bases(); ++b) {
    const Eigen::Map<const Vector> p(
        numbers.data_ptr<double>() + b * static_cast<std::size_t>(space_.size()), space_.size());
    bases_.push_back(space_.to_basis(p));
    const numerics::LevelTable table(bases_.back());
    float* const levels = levels_.data_ptr<float>() + b * num_levels;
    std::int64_t* const order = order_.data_ptr<std::int64_t>() + b * num_levels;
    for (std::size_t l = 0; l < num_levels; ++l) {
      levels[table.codes()[l]] = table.levels()[l];
      order[l] = table.codes()[l];
    }
    std::ranges::copy(table.thresholds(), thresholds_.data_ptr<float>() + b * (num_levels - 1));
    const float low = table.levels().front();
    const float high = table.levels().back();
    const float half_gap = (high - low) / static_cast<float>(2 * (num_levels - 1));
    reach_.data_ptr<float>()[b] = low - half_gap;
    reach_.data_ptr<float>()[num_bases() + b] = high + half_gap;
  }
}

at::Tensor LevelQuantizer::rows_of(const at::Tensor& x) const {
  const auto rows = static_cast<std::int64_t>(num_bases());
  HALFTONE_ASSERT(rows == 1 || (x.dim() == 2 && x.size(0) == rows));
  return x.reshape({rows, -1});
}

at::Tensor LevelQuantizer::codes_of(const at::Tensor& rows) const {
  const at::Tensor places = at::searchsorted(thresholds_, rows.detach().contiguous());
  return order_.gather(1, places);
}

at::Tensor LevelQuantizer::forward(const at::Tensor& x) const {
  const at::Tensor rows = rows_of(x);
  const at::Tensor codes = codes_of(rows);
  at::Tensor levels = levels_;
  if (options_.rule == LevelRule::kGradient) {
    const at::Tensor free = parameters_.matmul(features_.t());
    levels = free + (levels_ - free).detach();
  }
  const at::Tensor passed = options_.clips ? at::clamp(rows, reach_[0], reach_[1]) : rows;
  return (levels.gather(1, codes) + (passed - passed.detach())).reshape(x.sizes());
}

LevelSums LevelQuantizer::sums(const at::Tensor& x) const {
  const at::Tensor rows = rows_of(x).detach();
  const at::Tensor codes = codes_of(rows);
  const auto zeros = [&] { return at::zeros(levels_.sizes(), at::TensorOptions(at::kDouble)); };
  const at::Tensor numbers = rows.to(at::kDouble);
  return {zeros().scatter_add_(1, codes, at::ones_like(numbers)),
          zeros().scatter_add_(1, codes, numbers)};
}

void LevelQuantizer::update(const LevelSums& sums) {
  HALFTONE_ASSERT(options_.rule == LevelRule::kMovingAverage);
  const auto num_levels = static_cast<std::size_t>(levels_.size(1));
  const Matrix& features = space_.features();
  const double* counts = sums.counts.data_ptr<double>();
  const double* totals = sums.sums.data_ptr<double>();
  float* parameters = parameters_.data_ptr<float>();
  for (std::size_t b = 0; b < num_bases(); ++b) {
    const auto size = static_cast<Index>(num_levels);
    const Eigen::Map<const Vector> count(counts + b * num_levels, size);
    const Eigen::Map<const Vector> total(totals + b * num_levels, size);
    if (count.sum() > 0) {
      const Vector closed = compress::solve_ridge(
          features.transpose() * count.asDiagonal() * features, features.transpose() * total, 1e-6);
      for (Index i = 0; i < closed.size(); ++i) {
        float& p = parameters[static_cast<Index>(b) * closed.size() + i];
        p = static_cast<float>(options_.momentum * static_cast<double>(p) +
                               (1 - options_.momentum) * closed[i]);
      }
    }
  }
  refresh();
}

}  // namespace halftone::train
