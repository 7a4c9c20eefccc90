// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>
#include <span>

#include "halftone/ir/ops/activation.h"

namespace halftone::runtime {

/// Whether halftone/kernels has a vector function for this activation. Such a function gives the
/// same bits on every target.
bool has_vector_function(const ir::Activation& activation);

/// y = activation(x); the vector function where there is one, else ir::apply() element by element.
/// @param y  as long as x; may be the same memory
void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y) noexcept;

/// The function that apply_activation() computes, if it never decreases from -infinity to infinity
/// and is known to gain by not being computed; else nothing. Tanh, Exp and Elu were compared at all
/// neighbours in float32, where Sigmoid and Softplus fall by one unit in the last place here and
/// there; the others are monotone in each of their steps, and so is the rounding of these.
std::function<float(float)> never_decreasing(const ir::Activation& activation);

}  // namespace halftone::runtime
