// SPDX-License-Identifier: Apache-2.0
// Functions that treat numbers and their gradients each in their own way.
#pragma once

#include <ATen/core/Tensor.h>

#include <functional>

namespace halftone::train {

/// `value`, as exact as it is; the gradient by it passes on to x as if they were the same. A sum
/// x + (value - x) would have that gradient too, but not always the value.
/// @param value  of the shape and type of x
/// Source: Bengio et al., 2013 (arXiv:1308.3432), Sec. 4: the straight-through estimator.
at::Tensor straight_through(const at::Tensor& x, const at::Tensor& value);

/// x; the gradient by it goes through a function on its way back. Where no gradient passes x, the
/// function is never called.
/// @param change  gives a tensor of the shape of its argument, which it leaves alone; it is called
///                after this has returned, on the thread that asks for gradients
at::Tensor change_gradient(const at::Tensor& x,
                           std::function<at::Tensor(const at::Tensor& gradient)> change);

}  // namespace halftone::train
