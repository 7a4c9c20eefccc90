// SPDX-License-Identifier: Apache-2.0
// The part of a network before the extents that depend on data. It is fitted and compared as a
// network of its own.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/ir/graph.h"

namespace halftone {

/// The network without what lies behind the first extents that depend on data. Its outputs are
/// those of the network that it computes, then what the rest reads; a network without such extents
/// is its own part.
/// @throws Error kUnsupported if it computes nothing
ir::Graph fixed_part(ir::Graph graph);

/// Fits the part before extents that depend on data, and puts the rest behind it. A line names the
/// layers of the rest, which stay as they are.
/// @param fit  fit(graph) returns the result
compress::QuantizedGraph fit_fixed_part(
    const ir::Graph& graph, const std::function<compress::QuantizedGraph(const ir::Graph&)>& fit);

}  // namespace halftone
