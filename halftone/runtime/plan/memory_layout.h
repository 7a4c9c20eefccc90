// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Gives every value and the scratch memory of every step an offset in one arena.
/// @param layouts  of codes, by value
/// @param plan     its graph and steps; storage, arena_bytes and scratch offsets are written
void lay_out_memory(std::span<const CodeLayout> layouts, Plan::Parts& plan);

}  // namespace halftone::runtime
