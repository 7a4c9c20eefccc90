// SPDX-License-Identifier: Apache-2.0
// Implementations of Reduce, Normalize and Softmax.
#pragma once

#include <optional>
#include <vector>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Joins adjacent axes into one, with the axes before and after; nothing if they are not adjacent.
std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes);

/// Reduce of float32 over adjacent axes: sums (in double precision), means, extrema, norms.
extern const Implementation kReduceFloats;
/// Normalize over adjacent axes.
extern const Implementation kNormalizeFloats;
/// Softmax over the last axis with beta 1, with halftone/kernels.
extern const Implementation kSoftmaxRows;
/// Softmax of codes over the last axis.
extern const Implementation kSoftmaxCodes;

}  // namespace halftone::runtime
