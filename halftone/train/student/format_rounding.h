// SPDX-License-Identifier: Apache-2.0
// Rounds tensors to number formats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>

#include "halftone/train/student/number_format.h"

namespace halftone::train {

/// Rounds each value to the nearest one of the format; values that are too large for a Minifloat
/// become its largest value. NaN stays NaN.
/// @param x  float32
/// @return   a copy, with the same strides if elements do not overlap
at::Tensor rounded_to_nearest(const NumberFormat& format, const at::Tensor& x);

/// Rounds each value randomly to one of its two neighbours in the format, so that the expected
/// result is the value: numerics::round_stochastically(), and likewise for integers.
/// @param seed  the i-th number of Random(seed) rounds the i-th value in memory
at::Tensor rounded_stochastically(const NumberFormat& format, const at::Tensor& x,
                                  std::uint64_t seed);

/// A seed that depends only on `seed` and on indices, such as those of step, part and node.
std::uint64_t seed_of(std::uint64_t seed, std::initializer_list<std::uint64_t> place);

}  // namespace halftone::train
