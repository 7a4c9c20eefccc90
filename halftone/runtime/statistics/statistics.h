// SPDX-License-Identifier: Apache-2.0
// Ways to compute Reduce, Normalize and Softmax.
#pragma once

#include <optional>
#include <vector>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Joins axes into one, with those before and those behind it; nothing if others lie between them.
std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes);

/// Reduce of float32 over adjacent axes: sums (in double precision), means, extremes, norms.
extern const Implementation kReduceFloats;
/// Normalize over adjacent axes.
extern const Implementation kNormalizeFloats;
/// Softmax over the last axis, beta 1, by halftone/kernels.
extern const Implementation kSoftmaxRows;

}  // namespace halftone::runtime
