// SPDX-License-Identifier: Apache-2.0
// Implementations of Conv, ConvTranspose and Pool.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Encoded input and encoded constant weights with a basis per tensor or channel: bit planes.
extern const Implementation kConvBits;
/// Encoded input in the integer layout, and encoded constant weights of any granularity. Levels of
/// the weights are rounded to 8 bits unless they are evenly spaced.
extern const Implementation kConvInt8;
/// A dense or decoded input and constant weights, with kernels::float_conv(), whose order of sums
/// is fixed.
extern const Implementation kConvFixed;
/// The same for ConvTranspose with kernels::float_conv_transpose(), whose order of sums is fixed.
extern const Implementation kConvTransposeFixed;
/// Maximum or mean over one to three spatial axes, summed in float64 like the reference
/// implementation.
extern const Implementation kPoolFixed;

}  // namespace halftone::runtime
