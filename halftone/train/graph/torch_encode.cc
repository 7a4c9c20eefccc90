// SPDX-License-Identifier: Apache-2.0
// Rounding to levels, with a straight-through gradient.
#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <span>
#include <vector>

#include "halftone/train/graph/torch_gradient.h"
#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

/// A tensor of these values, with the type and device of another tensor.
at::Tensor as_tensor(std::span<const float> numbers, const at::Tensor& like) {
  at::Tensor result = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kFloat);
  std::copy(numbers.begin(), numbers.end(), result.data_ptr<float>());
  return result.to(like.options());
}

}  // namespace

at::Tensor nearest_levels(const numerics::MatrixEncoding& encoding, const at::Tensor& x) {
  const numerics::LevelTable table(encoding.levels(0));
  const at::Tensor levels = as_tensor(table.levels(), x);
  const at::Tensor thresholds = as_tensor(table.thresholds(), x);
  // NaN takes the lowest level, as in LevelTable.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  const at::Tensor comparable = x.detach().nan_to_num(-kInfinity, kInfinity, -kInfinity);
  const at::Tensor places = at::bucketize(comparable, thresholds);
  at::Tensor y = levels.index_select(0, places.reshape({-1})).reshape(x.sizes());
  if (table.beyond()) y = with_beyond(*table.beyond(), x.detach(), y);
  return straight_through(x, y);
}

at::Tensor with_beyond(const numerics::Beyond& beyond, const at::Tensor& x, const at::Tensor& y) {
  const auto becomes = [&](const numerics::Beyond::Special& special) {
    return at::full({}, static_cast<double>(special.value), y.options());
  };
  const at::Tensor high = at::where(x.gt(beyond.high), becomes(beyond.at_high), y);
  const at::Tensor ends = at::where(x.le(beyond.low), becomes(beyond.at_low), high);
  return at::where(x.isnan(), becomes(beyond.of_nan), ends);
}

namespace {

bool is_known(const ir::Encode& op) { return is_differentiable(op.activation); }

at::Tensor compute(const ir::Encode& op, const TorchInputs& in) {
  return in.encoded(op.encoding.get(), activate(op.activation, in[0]));
}

/// Computed by the reference, in main memory; the gradient passes straight through.
at::Tensor round_numbers(const ir::FakeQuantize& op, const TorchInputs& in) {
  const at::Tensor x = in[0];
  const at::Tensor numbers = x.detach().cpu().to(at::kFloat).contiguous();
  const std::vector<ir::Dim> extents(numbers.sizes().begin(), numbers.sizes().end());
  const ir::Tensor given = ir::Tensor::from<float>(
      ir::Shape(extents),
      std::span<const float>(numbers.data_ptr<float>(), static_cast<std::size_t>(numbers.numel())));
  const ir::Tensor* pointer = &given;
  const ir::Tensor rounded = ir::evaluate(op, {&pointer, 1});
  at::Tensor result = at::empty_like(numbers);
  std::ranges::copy(rounded.as<float>(), result.data_ptr<float>());
  return straight_through(x, result.to(x.options()));
}

constexpr TorchEntry kEncodeFunctions[] = {
    torch_entry<ir::Encode, compute, is_known>(),
    torch_entry<ir::FakeQuantize, round_numbers>(),
};

}  // namespace

std::span<const TorchEntry> encode_functions() { return kEncodeFunctions; }

}  // namespace halftone::train
