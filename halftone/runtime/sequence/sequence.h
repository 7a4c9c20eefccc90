// SPDX-License-Identifier: Apache-2.0
// Implementations of the operators that place tokens in a sequence or mix them.
#pragma once

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Rows into a cache that an attention reads; see cache.h.
extern const Implementation kAppendToCache;
/// Attention over caches. Threads divide pairs of a token and a head of keys.
extern const Implementation kAttendCaches;
/// Attention inside samples. Threads divide pairs of a sample and a head of keys.
extern const Implementation kAttendSamples;
/// Rotary positions.
extern const Implementation kRotateRows;
/// Recurrences of samples, and of rows that change a state in place; see recurrence.h. Threads
/// divide channels.
extern const Implementation kShortConvolution;
extern const Implementation kSelectiveScan;
extern const Implementation kGatedDelta;
/// The state after rows that change it in place.
extern const Implementation kKeptState;

}  // namespace halftone::runtime
