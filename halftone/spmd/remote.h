// SPDX-License-Identifier: Apache-2.0
// Collectives whose lanes are on several ranks.
#pragma once

#include "halftone/spmd/lane.h"
#include "halftone/spmd/transport.h"

namespace halftone::spmd::internal {

/// Computes the results of a collective that is complete over all ranks, for the lanes of this
/// rank. Called by every rank that takes part, for the same collectives in the same order.
void carry_out_over_ranks(Meeting& meeting, Transport& transport);

}  // namespace halftone::spmd::internal
