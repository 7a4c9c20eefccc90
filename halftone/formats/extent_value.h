// SPDX-License-Identifier: Apache-2.0
// Extents that are open as values that operators read.
#pragma once

#include <string>

#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Whether an integer has symbols that the network computes.
bool has_computed(const ir::Extent& extent);

/// An integer as a value, int64 []: a constant, the value that defines a symbol, or a count of as
/// many ones.
/// @throws Error kUnsupported if it depends on the batch
ir::ValueId add_extent_value(ir::Graph& graph, const std::string& name, const ir::Extent& extent);

}  // namespace halftone::formats
