// SPDX-License-Identifier: Apache-2.0
// How chips of a tensor split divide the layers of a network.
#pragma once

#include <map>

#include "halftone/accel/workload.h"

namespace halftone::accel {

/// Finds pairs of layers: the columns of the first are divided, the inner extent of those that read
/// it is, and so are the elements of what stands between them. Of layers without such a partner
/// columns are divided and gathered.
/// @param operations  of the nodes, whose joins_shares, in_shares and gathers_shares it sets
void mark_tensor_pairs(const ir::Graph& graph, const std::map<ir::NodeId, Operation*>& operations);

}  // namespace halftone::accel
