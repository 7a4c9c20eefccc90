// SPDX-License-Identifier: Apache-2.0
// The part of a network before the extents that depend on data, where one network is compared.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone {

/// The network without what lies behind the first extents that depend on data. Its outputs are
/// those of the network that it computes, then what the rest reads; a network without such extents
/// is its own part.
/// @throws Error kUnsupported if it computes nothing
ir::Graph fixed_part(ir::Graph graph);

}  // namespace halftone
