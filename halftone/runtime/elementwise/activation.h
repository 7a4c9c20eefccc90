// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <functional>
#include <span>

#include "halftone/ir/ops/activation.h"

namespace halftone::runtime {

/// Whether halftone/kernels has a vector function for this activation. Such functions give the same
/// bits on every target.
bool has_vector_function(const ir::Activation& activation);

/// y = activation(x), with the vector function if there is one, otherwise with ir::apply() per
/// element.
/// @param y  as long as x; may be the same memory
void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y) noexcept;

/// The same by several threads.
/// @param shares  number of equal shares; 1: on this thread
void apply_activation(const ir::Activation& activation, std::span<const float> x,
                      std::span<float> y, std::size_t shares) noexcept;

/// The function that apply_activation() computes, if it never decreases from -infinity to infinity
/// and skipping it is known to be faster; otherwise nothing. Tanh, Exp and Elu were compared at all
/// neighbours in float32. Sigmoid and Softplus decrease by one unit in the last place at some of
/// them. The others are monotone in each step, and so is their rounding.
std::function<float(float)> never_decreasing(const ir::Activation& activation);

}  // namespace halftone::runtime
