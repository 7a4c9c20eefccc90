// SPDX-License-Identifier: Apache-2.0
// What the program of the test compares: outputs of the runtime for generated inputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/export_c/ports.h"
#include "halftone/ir/graph.h"
#include "halftone/ir/tensor.h"

namespace halftone::export_c {

/// The first state of the generator in main.c.
inline constexpr std::uint32_t kSeed = 2463534242U;

/// The outputs of each run. Inputs are made of the highest bits of a xorshift generator, one number
/// for each element, as the C program makes them too: 8 of them for a code, 24 for a float32 in
/// [-1, 1), 16 for an int32. An input that takes codes gets their levels.
/// @param inputs  of the C program, in the order of the graph
/// Source: Marsaglia, Xorshift RNGs, Journal of Statistical Software 8 (2003).
/// @throws Error as runtime::make_plan()
std::vector<std::vector<ir::Tensor>> run_vectors(const ir::Graph& graph,
                                                 std::span<const ArenaPort> inputs,
                                                 std::size_t count);

}  // namespace halftone::export_c
