// SPDX-License-Identifier: Apache-2.0
// Ways to compute the operators that move elements, and Gather.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Transpose, Slice, Concat, BroadcastTo, Tile, and Pad with a constant: as strided copies.
Verdict judge_copy(const NodeContext& context);
Kernel create_copy(const NodeContext& context);

/// Gather, as copies of rows.
Verdict judge_gather(const NodeContext& context);
Kernel create_gather(const NodeContext& context);
/// Gather from a constant table of codes: the table stays as it is, what is gathered is decoded.
Verdict judge_gather_codes(const NodeContext& context);
Kernel create_gather_codes(const NodeContext& context);

}  // namespace halftone::runtime
