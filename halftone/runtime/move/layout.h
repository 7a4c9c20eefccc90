// SPDX-License-Identifier: Apache-2.0
// Implementations of the operators that move elements, and of Gather.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Transpose, Slice, Concat, BroadcastTo, Tile, and Pad with a constant: as strided copies.
extern const Implementation kStridedCopy;
/// Gather as copies of rows.
extern const Implementation kGatherRows;
/// Gather from a constant table of codes: only the rows that are looked up are decoded.
extern const Implementation kGatherCodes;
/// Rows of a constant table in blocks, decoded in every run.
extern const Implementation kGatherBlocks;

}  // namespace halftone::runtime
