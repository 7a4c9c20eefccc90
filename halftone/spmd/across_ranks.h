// SPDX-License-Identifier: Apache-2.0
// Operations over all ranks outside of maps.
#pragma once

#include <string>
#include <vector>

#include "halftone/spmd/devices.hpp"
#include "halftone/spmd/exchange.h"
#include "halftone/spmd/tree.hpp"

namespace halftone::spmd::internal {

/// The shards of all ranks, on every rank.
/// @param local  the shards of this rank
/// @throws Error kUsage within a map, or if another rank calls something else; kShape if shards
///         differ
std::vector<Flat> all_shards(std::vector<Flat> local, const Placement& placement);

/// The sum over the lanes of all ranks, on every rank.
/// @param local     a tree of the summed type; its values are ignored; no leaves on a rank that has
///                  no lanes
/// @param mine      nodes over the lanes of this rank
/// @throws Error kUsage within a map, or if another rank calls something else; kShape if trees
///         differ
Flat sum_of_ranks(Flat local, const Nodes& mine, const Placement& placement);

}  // namespace halftone::spmd::internal
