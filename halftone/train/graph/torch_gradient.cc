// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_gradient.h"

#include <torch/csrc/autograd/custom_function.h>

#include <utility>

namespace halftone::train {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::tensor_list;

struct StraightThrough : torch::autograd::Function<StraightThrough> {
  static at::Tensor forward(AutogradContext* /*context*/, const at::Tensor& /*x*/,
                            const at::Tensor& value) {
    return value;
  }

  static tensor_list backward(AutogradContext* /*context*/, tensor_list gradients) {
    return {gradients[0], at::Tensor()};
  }
};

}  // namespace

at::Tensor straight_through(const at::Tensor& x, const at::Tensor& value) {
  return StraightThrough::apply(x, value.detach());
}

at::Tensor change_gradient(const at::Tensor& x,
                           std::function<at::Tensor(const at::Tensor& gradient)> change) {
  if (!x.requires_grad()) return x;
  at::Tensor result = x.view_as(x);
  result.register_hook(std::move(change));
  return result;
}

}  // namespace halftone::train
