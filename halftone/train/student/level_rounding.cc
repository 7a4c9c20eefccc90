// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/level_rounding.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include <span>
#include <utility>

#include "halftone/kernels/levels.h"

namespace halftone::train {
namespace {

using Eigen::Index;

constexpr const char* kRounding = "rounding";

/// What libtorch keeps between forward and backward.
struct Held : torch::CustomClassHolder {
  explicit Held(std::shared_ptr<const LevelRounding> what) : rounding(std::move(what)) {}
  std::shared_ptr<const LevelRounding> rounding;
};

class Round : public torch::autograd::Function<Round> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& rows,
                            const at::Tensor& /*parameters*/,
                            const std::shared_ptr<const LevelRounding>& rounding) {
    context->save_for_backward({rows});
    context->saved_data[kRounding] = c10::IValue::make_capsule(c10::make_intrusive<Held>(rounding));
    return rounding->levels_of(rows);
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* context,
                                               torch::autograd::tensor_list gradients) {
    constexpr std::size_t kRows = 0;
    constexpr std::size_t kParameters = 1;
    const auto capsule = context->saved_data[kRounding].toCapsule();
    const LevelRounding& rounding = *static_cast<const Held&>(*capsule).rounding;
    const at::Tensor rows = context->get_saved_variables()[0];
    const at::Tensor gradient = gradients[0].contiguous();
    torch::autograd::tensor_list result(3);
    if (context->needs_input_grad(kRows)) {
      result[kRows] = rounding.gradient_by_numbers(rows, gradient);
    }
    if (context->needs_input_grad(kParameters)) {
      result[kParameters] = rounding.gradient_by_parameters(rows, gradient);
    }
    return result;
  }
};

std::span<float> row_of(const at::Tensor& rows, std::size_t row) {
  const auto cols = static_cast<std::size_t>(rows.size(1));
  return {rows.data_ptr<float>() + row * cols, cols};
}

}  // namespace

LevelRounding::LevelRounding(const compress::ParameterSpace& space,
                             const std::vector<numerics::Basis>& bases, bool clips,
                             double gradient_scale)
    : features_(space.features()),
      clips_(clips),
      gradient_scale_(gradient_scale),
      tables_(bases.begin(), bases.end()) {}

at::Tensor LevelRounding::round(const at::Tensor& rows, const at::Tensor& parameters) const {
  return Round::apply(rows.contiguous(), parameters, shared_from_this());
}

at::Tensor LevelRounding::levels_of(const at::Tensor& rows) const {
  at::Tensor result = at::empty_like(rows);
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::round_to_levels(row_of(rows, b), tables_[b], row_of(result, b));
  }
  return result;
}

at::Tensor LevelRounding::gradient_by_numbers(const at::Tensor& rows,
                                              const at::Tensor& gradient) const {
  if (!clips_) return gradient;
  at::Tensor result = at::empty_like(rows);
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    const float low = tables_[b].levels().front();
    const float high = tables_[b].levels().back();
    const float half_gap = (high - low) / static_cast<float>(2 * (tables_[b].size() - 1));
    kernels::pass_between(row_of(rows, b), low - half_gap, high + half_gap, row_of(gradient, b),
                          row_of(result, b));
  }
  return result;
}

at::Tensor LevelRounding::gradient_by_parameters(const at::Tensor& rows,
                                                 const at::Tensor& gradient) const {
  at::Tensor result = at::empty({rows.size(0), features_.cols()}, rows.options());
  compress::Vector by_code(features_.rows());
  std::vector<double> sums(static_cast<std::size_t>(features_.rows()));
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::sum_by_level(row_of(rows, b), row_of(gradient, b), tables_[b], sums);
    for (std::size_t l = 0; l < sums.size(); ++l) by_code[tables_[b].codes()[l]] = sums[l];
    const compress::Vector slope = gradient_scale_ * (features_.transpose() * by_code);
    for (Index p = 0; p < slope.size(); ++p) {
      row_of(result, b)[static_cast<std::size_t>(p)] = static_cast<float>(slope[p]);
    }
  }
  return result;
}

LevelSums LevelRounding::sums(const at::Tensor& given) const {
  const at::Tensor rows = given.detach().contiguous();
  const auto num_bases = static_cast<std::int64_t>(tables_.size());
  const auto zeros = [&] {
    return at::zeros({num_bases, features_.rows()}, at::TensorOptions(at::kDouble));
  };
  LevelSums result{zeros(), zeros()};
  const auto num_levels = static_cast<std::size_t>(features_.rows());
  std::vector<double> sums(num_levels);
  std::vector<double> counts(num_levels);
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::sum_by_level(row_of(rows, b), row_of(rows, b), tables_[b], sums);
    kernels::count_by_level(row_of(rows, b), tables_[b], counts);
    for (std::size_t l = 0; l < num_levels; ++l) {
      const std::size_t at = b * num_levels + tables_[b].codes()[l];
      result.sums.data_ptr<double>()[at] = sums[l];
      result.counts.data_ptr<double>()[at] = counts[l];
    }
  }
  return result;
}

}  // namespace halftone::train
