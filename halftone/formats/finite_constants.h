// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Checks the constants of a graph from a file: weights must be finite; only bounds and masks may
/// be infinite.
/// @throws Error kFormat naming the constant
void check_finite(const ir::Graph& graph);

}  // namespace halftone::formats
