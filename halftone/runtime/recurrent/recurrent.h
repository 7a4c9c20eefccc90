// SPDX-License-Identifier: Apache-2.0
// Ways to compute Recurrent: one loop over the steps, with one of several products in it.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Encoded states and weights: bit planes, xor and popcount.
extern const Implementation kRecurrentBits;
/// Encoded weights, states as integers of 8 bits: by the planes or the levels of the weights.
extern const Implementation kRecurrentInt8;
/// Float32: encoded weights are decoded once, encoded states in every step.
extern const Implementation kRecurrentFloat;

}  // namespace halftone::runtime
