// SPDX-License-Identifier: Apache-2.0
// Ways to compute Reduce and Normalize.
#pragma once

#include <optional>
#include <vector>

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The axes of a shape as one between those before and behind; none if others lie between them.
std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes);

/// Reduce of float32 over axes that follow each other: sums (carried in double precision), means,
/// extremes, norms.
Verdict judge_reduce(const NodeContext& context);
Kernel create_reduce(const NodeContext& context);

/// Normalize over axes that follow each other.
Verdict judge_normalize(const NodeContext& context);
Kernel create_normalize(const NodeContext& context);

}  // namespace halftone::runtime
