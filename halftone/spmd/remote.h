// SPDX-License-Identifier: Apache-2.0
// Runs collectives whose lanes are on several ranks.
#pragma once

#include "halftone/spmd/lane.h"
#include "halftone/spmd/transport.hpp"

namespace halftone::spmd::internal {

/// Computes the results of a collective for the lanes of this rank, once all lanes of all ranks
/// have arrived. Every participating rank calls it for the same collectives in the same order.
void carry_out_over_ranks(Meeting& meeting, Transport& transport);

}  // namespace halftone::spmd::internal
