// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Assigns an offset in one arena to every value and to the scratch memory of every step.
/// @param layouts  of codes, by value
/// @param plan     reads its graph and steps; writes storage, arena_bytes and scratch offsets
void lay_out_memory(std::span<const CodeLayout> layouts, Plan::Parts& plan);

}  // namespace halftone::runtime
