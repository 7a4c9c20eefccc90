// SPDX-License-Identifier: Apache-2.0
// Rounds tensors to number formats.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <initializer_list>

#include "halftone/numerics/number_format.h"

namespace halftone::train {

/// The rows of a tensor, which the groups of a format lie in.
enum class TensorRows : std::uint8_t {
  kLastAxis,  ///< along the last axis: activations and gradients [N, ..., C]
  kOutputs,   ///< an index of the first axis each: weights, as ir::matrix_extent() has them
};

/// Rounds each value to the nearest one of the format: numerics::round_by_rule(). NaN stays NaN. A
/// tensor with infinities or NaN has no scale, so a format with scales leaves it as it is, except
/// one whose numbers overflow to infinity or NaN.
/// @param x  float32
/// @return   a copy
at::Tensor rounded_to_nearest(const numerics::NumberFormat& format, const at::Tensor& x,
                              TensorRows rows = TensorRows::kLastAxis);

/// Rounds each value randomly to one of its two neighbours in the format, so that the expected
/// result is the value: numerics::round_by_rule_stochastically().
/// @param seed  the i-th number of Random(seed) rounds value i, in the order of indices
at::Tensor rounded_stochastically(const numerics::NumberFormat& format, const at::Tensor& x,
                                  std::uint64_t seed, TensorRows rows = TensorRows::kLastAxis);

/// A seed that depends only on `seed` and on indices, such as those of step, part and node.
std::uint64_t seed_of(std::uint64_t seed, std::initializer_list<std::uint64_t> place);

}  // namespace halftone::train
