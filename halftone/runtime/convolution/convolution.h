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
/// Conv of the same by kernels::float_conv(), whose order of sums is fixed.
extern const Implementation kConvFixed;
/// One to three spatial axes: oneDNN.
extern const Implementation kPoolFloat;
/// The largest or the mean, summed in float64 as the operator's definition does.
extern const Implementation kPoolFixed;

}  // namespace halftone::runtime
