// SPDX-License-Identifier: Apache-2.0
// Functions with different forward and backward passes.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace halftone::train {

/// Returns `value` exactly; the gradient with respect to it passes to x unchanged. The sum
/// x + (value - x) has the same gradient, but is rounded.
/// @param value  of the shape and type of x
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator.
at::Tensor straight_through(const at::Tensor& x, const at::Tensor& value);

/// Returns x; `change` replaces the gradient with respect to it. `change` is not called if x needs
/// no gradient.
/// @param change  returns a tensor of the shape of its argument, which it does not modify; called
///                during the backward pass, on the thread that computes the gradients
at::Tensor change_gradient(const at::Tensor& x,
                           std::function<at::Tensor(const at::Tensor& gradient)> change);

}  // namespace halftone::train
