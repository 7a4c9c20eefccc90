// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of passes: random graphs, and the guarantee that every pass gives.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "halftone/ir/testing.h"
#include "halftone/ir/verify.h"

namespace halftone::passes::test {

/// A pass with its default options.
using Pass = std::function<bool(ir::Graph&)>;

using ir::test::random_tensor;

/// Runs the pass and checks that the graph stays valid, keeps its inputs and outputs by name and
/// type, and computes the same outputs up to 1e-5 of the largest output.
/// @return what the pass returned
bool run_checked(ir::Graph& graph, const Pass& pass);

/// A graph of about `steps` nodes with all patterns that the passes match; batch first, float32
/// inputs and outputs, and no operator that turns a rounding error into another level.
ir::Graph random_graph(std::uint64_t seed, int steps);

/// Runs the pass on random graphs until it changes nothing; fails if it changes too few of them to
/// mean anything.
void expect_safe_on_random_graphs(const Pass& pass, std::uint64_t num_graphs = 150);

/// The names of the nodes' operators, in order of execution.
std::vector<std::string> operators(const ir::Graph& graph);
/// The elements of a float32 constant.
std::vector<float> constant_floats(const ir::Graph& graph, ir::ValueId id);
/// The node that computes the first output of the graph.
const ir::Node& output_node(const ir::Graph& graph);

}  // namespace halftone::passes::test
