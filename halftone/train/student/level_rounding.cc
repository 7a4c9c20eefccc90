// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/level_rounding.h"

#include <ATen/ATen.h>
#include <torch/autograd.h>
#include <torch/custom_class.h>

#include <algorithm>
#include <limits>
#include <span>
#include <utility>

#include "halftone/kernels/encode/encode.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

using Eigen::Index;

constexpr const char* kRounding = "rounding";

/// Holds the LevelRounding between libtorch's forward and backward pass.
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
      result[kRows] = rounding.value_gradient(rows, gradient);
    }
    if (context->needs_input_grad(kParameters)) {
      result[kParameters] = rounding.parameter_gradient(rows, gradient);
    }
    return result;
  }
};

std::span<float> row_of(const at::Tensor& rows, std::size_t row) {
  const auto cols = static_cast<std::size_t>(rows.size(1));
  return {rows.data_ptr<float>() + row * cols, cols};
}

std::span<double> sums_of(const at::Tensor& sums, std::size_t row) {
  const auto cols = static_cast<std::size_t>(sums.size(1));
  return {sums.data_ptr<double>() + row * cols, cols};
}

/// One row of values per table.
template <typename Numbers>
at::Tensor rows_of(const std::vector<numerics::LevelTable>& tables, Numbers numbers_of) {
  const auto cols = static_cast<std::int64_t>(numbers_of(tables.front()).size());
  at::Tensor result =
      at::empty({static_cast<std::int64_t>(tables.size()), cols}, at::TensorOptions(at::kFloat));
  for (std::size_t b = 0; b < tables.size(); ++b) {
    std::ranges::copy(numbers_of(tables[b]), row_of(result, b).begin());
  }
  return result;
}

/// The range from half a gap below the lowest level to half a gap above the highest.
std::pair<float, float> reach_of(const numerics::LevelTable& table) {
  return {table.levels().front() - table.half_gap(), table.levels().back() + table.half_gap()};
}

}  // namespace

LevelRounding::LevelRounding(const compress::ParameterSpace& space,
                             const std::vector<numerics::Levels>& levels, bool clips,
                             double gradient_scale, Arithmetic arithmetic)
    : arithmetic_(arithmetic),
      features_(space.features()),
      clips_(clips),
      gradient_scale_(gradient_scale),
      tables_(levels.begin(), levels.end()) {}

at::Tensor LevelRounding::round(const at::Tensor& rows, const at::Tensor& parameters) const {
  return Round::apply(rows.contiguous(), parameters, shared_from_this());
}

/// Level indices of the values, for tensors without kernels.
at::Tensor LevelRounding::places_of(const at::Tensor& rows) const {
  const at::Tensor thresholds =
      rows_of(tables_, [](const numerics::LevelTable& table) { return table.thresholds(); });
  // NaN takes the lowest level.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return at::searchsorted(thresholds.to(rows.device()),
                          rows.nan_to_num(-kInfinity, kInfinity, -kInfinity));
}

at::Tensor LevelRounding::levels_of(const at::Tensor& rows) const {
  if (!uses_kernels(rows)) {
    const at::Tensor levels =
        rows_of(tables_, [](const numerics::LevelTable& table) { return table.levels(); });
    at::Tensor nearest = levels.to(rows.device()).gather(1, places_of(rows));
    for (std::size_t b = 0; b < tables_.size() && tables_[b].beyond(); ++b) {
      const auto row = static_cast<std::int64_t>(b);
      nearest[row].copy_(with_beyond(*tables_[b].beyond(), rows[row], nearest[row]));
    }
    return nearest;
  }
  at::Tensor result = at::empty_like(rows);
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::round_to_levels(row_of(rows, b), tables_[b], row_of(result, b));
  }
  return result;
}

at::Tensor LevelRounding::value_gradient(const at::Tensor& rows, const at::Tensor& gradient) const {
  if (!clips_) return gradient;
  const auto num_rows = static_cast<std::int64_t>(tables_.size());
  at::Tensor reach = at::empty({2, num_rows, 1}, at::TensorOptions(at::kFloat));
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    const auto [low, high] = reach_of(tables_[b]);
    reach.data_ptr<float>()[b] = low;
    reach.data_ptr<float>()[tables_.size() + b] = high;
  }
  if (!uses_kernels(rows)) {
    const at::Tensor ends = reach.to(rows.device());
    const at::Tensor is_within = rows.ge(ends[0]).logical_and(rows.le(ends[1]));
    return at::where(is_within, gradient, at::zeros({}, gradient.options()));
  }
  at::Tensor result = at::empty_like(rows);
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::pass_between(row_of(rows, b), reach.data_ptr<float>()[b],
                          reach.data_ptr<float>()[tables_.size() + b], row_of(gradient, b),
                          row_of(result, b));
  }
  return result;
}

at::Tensor LevelRounding::sums_by_level(const at::Tensor& rows, const at::Tensor& numbers) const {
  at::Tensor sums = at::zeros({static_cast<std::int64_t>(tables_.size()), num_levels()},
                              at::TensorOptions(at::kDouble));
  if (!uses_kernels(rows)) {
    const at::Tensor places = places_of(rows);
    for (std::int64_t level = 0; level < num_levels(); ++level) {
      const at::Tensor sum =
          (numbers * places.eq(level)).sum(at::IntArrayRef{1}, false, at::kDouble);
      sums.select(1, level).copy_(sum);
    }
    return sums;
  }
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    kernels::sum_by_level(row_of(rows, b), row_of(numbers, b), tables_[b], sums_of(sums, b));
  }
  return sums;
}

at::Tensor LevelRounding::by_code(const at::Tensor& by_level) const {
  at::Tensor result = at::zeros({by_level.size(0), features_.rows()}, by_level.options());
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    const std::span<const double> sums = sums_of(by_level, b);
    for (std::size_t l = 0; l < sums.size(); ++l) {
      sums_of(result, b)[tables_[b].codes()[l]] = sums[l];
    }
  }
  return result;
}

at::Tensor LevelRounding::parameter_gradient(const at::Tensor& rows,
                                             const at::Tensor& gradient) const {
  const at::Tensor sums = by_code(sums_by_level(rows, gradient));
  at::Tensor result = at::empty({sums.size(0), features_.cols()}, at::TensorOptions(at::kFloat));
  for (std::size_t b = 0; b < tables_.size(); ++b) {
    const Eigen::Map<const compress::Vector> each(sums_of(sums, b).data(), features_.rows());
    const compress::Vector slope =
        gradient_scale_ * compress::multiply(features_.transpose(), each);
    for (Index p = 0; p < slope.size(); ++p) {
      row_of(result, b)[static_cast<std::size_t>(p)] = static_cast<float>(slope[p]);
    }
  }
  return result;
}

LevelSums LevelRounding::sums(const at::Tensor& given) const {
  const at::Tensor rows = given.detach().contiguous();
  at::Tensor counts;
  if (uses_kernels(rows)) {
    counts = at::empty({rows.size(0), num_levels()}, at::TensorOptions(at::kDouble));
    for (std::size_t b = 0; b < tables_.size(); ++b) {
      kernels::count_by_level(row_of(rows, b), tables_[b], sums_of(counts, b));
    }
  } else {
    counts = sums_by_level(rows, at::ones_like(rows));
  }
  return {by_code(counts), by_code(sums_by_level(rows, rows))};
}

}  // namespace halftone::train
