// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/graph/torch_gradient.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

namespace halftone::train {
namespace {

at::Tensor leaf() {
  return at::arange(6, at::TensorOptions(at::kFloat)).reshape({2, 3}).requires_grad_();
}

at::Tensor slope(const at::Tensor& y, const at::Tensor& x) {
  return torch::autograd::grad({y}, {x})[0];
}

TEST(StraightThrough, HasTheValueOfOneAndTheGradientOfTheOther) {
  const at::Tensor x = leaf();
  const at::Tensor value = x.detach() * 1e-9 + 1e9;
  const at::Tensor y = straight_through(x, value);
  EXPECT_TRUE(y.equal(value));
  EXPECT_TRUE(slope((y * x.detach()).sum(), x).equal(x.detach()));
}

TEST(ChangeGradient, LetsNumbersPassAndChangesGradients) {
  const at::Tensor x = leaf();
  const at::Tensor y = change_gradient(x, [](const at::Tensor& g) { return -2 * g; });
  EXPECT_TRUE(y.equal(x));
  // Readers of x itself keep their gradient; the gradients of all readers of y are added first.
  EXPECT_TRUE(slope(x.sum(), x).equal(at::ones_like(x)));
  int calls = 0;
  const at::Tensor z = change_gradient(x, [&](const at::Tensor& g) {
    ++calls;
    return g.square();
  });
  EXPECT_TRUE(slope((z + 2 * z).sum(), x).equal(at::full_like(x, 9)));
  EXPECT_EQ(calls, 1);
}

TEST(ChangeGradient, IsNotAskedWhereNoGradientPasses) {
  const at::Tensor x = leaf().detach();
  const at::Tensor y = change_gradient(x, [](const at::Tensor& g) {
    ADD_FAILURE();
    return g;
  });
  EXPECT_TRUE(y.equal(x));
  EXPECT_FALSE(y.requires_grad());
}

}  // namespace
}  // namespace halftone::train
