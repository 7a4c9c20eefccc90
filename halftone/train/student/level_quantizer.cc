// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/level_quantizer.h"

#include <ATen/ATen.h>

#include <cmath>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::train {
namespace {

using compress::Matrix;
using compress::Vector;
using Eigen::Index;

at::Tensor to_tensor(const Matrix& matrix) {
  return at::from_blob(const_cast<double*>(matrix.data()), {matrix.rows(), matrix.cols()},
                       at::TensorOptions(at::kDouble))
      .to(at::kFloat);
}

std::vector<numerics::Levels> levels_of(const numerics::MatrixEncoding& encoding) {
  std::vector<numerics::Levels> levels;
  for (std::size_t b = 0; b < encoding.num_blocks(); ++b) levels.push_back(encoding.levels(b));
  return levels;
}

}  // namespace

double step_gradient_scale(std::size_t num_numbers, int bits) {
  return 1 / std::sqrt(static_cast<double>(num_numbers) * ((1 << bits) - 1));
}

LevelQuantizer::LevelQuantizer(compress::ParameterSpace space,
                               const std::vector<numerics::Levels>& levels,
                               const LevelQuantizerOptions& options)
    : space_(std::move(space)), options_(options) {
  HALFTONE_ASSERT(!levels.empty());
  Matrix start(static_cast<Index>(levels.size()), space_.size());
  for (std::size_t b = 0; b < levels.size(); ++b) {
    start.row(static_cast<Index>(b)) = space_.parameters_of(levels[b]).transpose();
  }
  parameters_ = to_tensor(start).clone();
  parameters_.set_requires_grad(options_.rule == LevelRule::kGradient);
  refresh();
}

LevelQuantizer::LevelQuantizer(const numerics::MatrixEncoding& encoding,
                               compress::ParameterSpace space, const LevelQuantizerOptions& options)
    : LevelQuantizer(std::move(space), levels_of(encoding), options) {}

std::vector<numerics::Levels> LevelQuantizer::to_levels(const at::Tensor& parameters) const {
  const at::Tensor numbers = parameters.detach().to(at::kDouble).contiguous();
  const auto size = static_cast<std::size_t>(space_.size());
  std::vector<numerics::Levels> levels;
  for (std::size_t b = 0; b < num_rows(); ++b) {
    levels.push_back(space_.to_levels(
        Eigen::Map<const Vector>(numbers.data_ptr<double>() + b * size, space_.size()), b));
  }
  return levels;
}

std::vector<numerics::Levels> LevelQuantizer::scaled_levels(const at::Tensor& factors) const {
  return to_levels(parameters_.detach() * factors.unsqueeze(1));
}

void LevelQuantizer::refresh() {
  levels_ = to_levels(parameters_);
  rounding_ = std::make_shared<const LevelRounding>(space_, levels_, options_.clips,
                                                    options_.gradient_scale);
}

at::Tensor LevelQuantizer::rows_of(const at::Tensor& x) const {
  const auto rows = static_cast<std::int64_t>(num_rows());
  HALFTONE_ASSERT(rows == 1 || (x.dim() == 2 && x.size(0) == rows));
  return x.reshape({rows, -1});
}

at::Tensor LevelQuantizer::forward(const at::Tensor& x) const {
  return rounding_->round(rows_of(x), parameters_).reshape(x.sizes());
}

LevelSums LevelQuantizer::sums(const at::Tensor& x) const { return rounding_->sums(rows_of(x)); }

void LevelQuantizer::update(const LevelSums& sums) {
  HALFTONE_ASSERT(options_.rule == LevelRule::kMovingAverage);
  const std::size_t num_levels = std::size_t{1} << space_.bits();
  const Matrix& features = space_.features();
  const double* counts = sums.counts.data_ptr<double>();
  const double* totals = sums.sums.data_ptr<double>();
  float* parameters = parameters_.data_ptr<float>();
  for (std::size_t b = 0; b < num_rows(); ++b) {
    const auto size = static_cast<Index>(num_levels);
    const Eigen::Map<const Vector> count(counts + b * num_levels, size);
    const Eigen::Map<const Vector> total(totals + b * num_levels, size);
    if (compress::sum_of(count) > 0) {
      const Matrix weighted = count.asDiagonal() * features;
      const Vector closed =
          compress::solve_ridge(compress::multiply(kernels::transposed(compress::view_of(features)),
                                                   compress::view_of(weighted)),
                                compress::multiply(features.transpose(), total), 1e-6);
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
