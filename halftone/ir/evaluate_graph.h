// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// The outputs of a graph, computed with the reference implementation of each operator; codes are
/// replaced by their levels. The batch is the leading extent of the inputs that have one.
/// @param inputs  one per input of the graph
/// @throws Error as evaluate_operator()
std::vector<Tensor> evaluate_graph(const Graph& graph, const std::vector<Tensor>& inputs);

/// About the number of operations of evaluate_graph() for one sample.
double evaluation_work(const Graph& graph);

}  // namespace halftone::ir
