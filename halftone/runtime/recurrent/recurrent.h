// SPDX-License-Identifier: Apache-2.0
// Implementations of Recurrent: one loop over the steps, with one of several products.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Encoded states and weights: bit planes, xor and popcount.
extern const Implementation kRecurrentBits;
/// Encoded weights, and states as 8-bit integers: by the bit planes of the weights.
/// The same by the levels of the weights.
extern const Implementation kRecurrentLevels;
/// Float32: encoded weights are decoded once, encoded states in every step.
extern const Implementation kRecurrentFloat;

}  // namespace halftone::runtime
