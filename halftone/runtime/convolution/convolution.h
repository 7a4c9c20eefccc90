// SPDX-License-Identifier: Apache-2.0
// Ways to compute Conv, ConvTranspose and Pool.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Encoded input and encoded constant weights, a basis per tensor or channel: bits by bits.
extern const Implementation kConvBits;
/// Encoded input, which comes as integers, and encoded constant weights of any granularity, whose
/// levels are rounded to 8 bits where they are not evenly spaced.
extern const Implementation kConvInt8;
/// Dense or decoded numbers and constant weights, one to three spatial axes: oneDNN.
extern const Implementation kConvFloat;
extern const Implementation kConvTransposeFloat;
/// One to three spatial axes: oneDNN.
extern const Implementation kPoolFloat;

}  // namespace halftone::runtime
