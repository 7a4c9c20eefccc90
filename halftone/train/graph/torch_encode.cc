// SPDX-License-Identifier: Apache-2.0
// Numbers brought to levels, and the gradient that passes straight through.
#include <ATen/ATen.h>
#include <torch/csrc/autograd/custom_function.h>

#include <limits>

#include "halftone/train/graph/torch_operators.h"

namespace halftone::train {
namespace {

at::Tensor as_tensor(std::span<const float> numbers, at::ScalarType type) {
  at::Tensor result = at::empty({static_cast<std::int64_t>(numbers.size())}, at::kFloat);
  std::copy(numbers.begin(), numbers.end(), result.data_ptr<float>());
  return result.to(type);
}

/// The identity for gradients. A sum x + (level - x) would have it too, but not the exact level.
class StraightThrough : public torch::autograd::Function<StraightThrough> {
 public:
  static at::Tensor forward(torch::autograd::AutogradContext* /*context*/, const at::Tensor& x,
                            const at::Tensor& levels, const at::Tensor& thresholds) {
    // NaN takes the lowest level, as a LevelTable has it.
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    const at::Tensor comparable = x.nan_to_num(-kInfinity, kInfinity, -kInfinity);
    const at::Tensor places = at::bucketize(comparable, thresholds);
    return levels.index_select(0, places.reshape({-1})).reshape(x.sizes());
  }

  static torch::autograd::tensor_list backward(torch::autograd::AutogradContext* /*context*/,
                                               torch::autograd::tensor_list gradients) {
    return {gradients[0], at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor nearest_levels(const numerics::BasisEncoding& encoding, const at::Tensor& x) {
  const numerics::LevelTable table(encoding.bases.front());
  return StraightThrough::apply(x, as_tensor(table.levels(), x.scalar_type()),
                                as_tensor(table.thresholds(), x.scalar_type()));
}

bool is_known(const ir::Encode& op) { return is_differentiable(op.activation); }

at::Tensor compute(const ir::Encode& op, const TorchInputs& in) {
  return in.encoded(op.encoding.get(), activate(op.activation, in[0]));
}

}  // namespace halftone::train
