// SPDX-License-Identifier: Apache-2.0
// What ranks do together outside of maps.
#pragma once

#include <string>
#include <vector>

#include "halftone/spmd/devices.h"
#include "halftone/spmd/exchange.h"
#include "halftone/spmd/tree.h"

namespace halftone::spmd::internal {

/// The shards of all ranks, on every rank.
/// @param local  those of this one
/// @throws Error kUsage within a map, or if ranks do other things; kShape if shards differ
std::vector<Flat> all_shards(std::vector<Flat> local, const Placement& placement);

/// The sum over lanes of all ranks, on every rank.
/// @param local     a tree of the kind that is summed, without values; without leaves on ranks that
///                  have no lanes
/// @param mine      nodes over the lanes of this rank
/// @throws Error kUsage within a map, or if ranks do other things; kShape if trees differ
Flat sum_of_ranks(Flat local, const Nodes& mine, const Placement& placement);

}  // namespace halftone::spmd::internal
